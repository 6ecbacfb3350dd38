// Writes the files of a report.
#pragma once

#include <filesystem>

#include "eval/metric/result.h"

namespace hone {

// report.json, samples.jsonl (one line per item and task) and report.html in `folder`, which
// exists. `evaluation` has been judged.
void write_report(const Evaluation& evaluation, const std::filesystem::path& folder);

}  // namespace hone
