// report.json: everything an evaluation found, for machines.
//
// Holds no times, hosts or absolute paths: the same evaluation gives the same bytes. The format is
// documented in docs/eval.md; kReportSchema changes when a field changes its meaning.
#pragma once

#include <string_view>

#include "core/json/json.h"
#include "eval/metric/result.h"

namespace hone {

inline constexpr std::string_view kReportSchema = "hone-eval/1";

// `evaluation` has been judged.
Json report_json(const Evaluation& evaluation);

// The few figures a recipe's table shows: verdict, headline, and per task its verdict and key
// figures.
Json report_summary(const Evaluation& evaluation);

}  // namespace hone
