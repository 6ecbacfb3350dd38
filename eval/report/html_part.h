// Parts of report.html.
#pragma once

#include <string>

#include "eval/metric/result.h"

namespace hone {

// "<span class=chip ...>✓ equivalent</span>": a verdict told by sign, word and colour.
std::string verdict_chip(Verdict verdict);

// <section> of one task: reason, table of metrics, rates, charts.
std::string task_html(const TaskResult& task, const Policy& policy, double reach);

// The items whose outcome changed, side by side, at most `limit` per direction; empty when nothing
// flipped.
std::string flips_html(const TaskResult& task, size_t limit);

}  // namespace hone
