// Step: compare a candidate with its reference and write the fidelity report.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "recipes/engine/step.h"

namespace hone {

// Reads two checkpoints and the tasks' data; writes report.json, samples.jsonl and report.html
// (docs/eval.md). Exit code: 0 equivalent or not worse, 3 worse, 4 inconclusive, 5 invalid.
struct EvalStep : Step {
  std::string model;
  std::string reference;
  std::string math_data;
  std::string tools_data;
  std::string kl_data;
  std::string output;
  std::vector<std::string> tasks = {"kl", "gsm8k", "tools"};
  int64_t limit = 0;
  int64_t kl_limit_documents = 300;
  int64_t kl_skip = 0;
  std::string math_instruction;
  int64_t max_tokens = 512;
  double margin = 5;
  double kl_limit = 0.05;
  std::string profile = "exact";
  int64_t seed = 0;

  [[nodiscard]] std::string_view kind() const override { return "eval"; }
  void visit(FieldVisitor& fields) override;
  // Summary: eval/report/json.h report_summary(), and "text", the terminal table. Throws UsageError
  // for unknown tasks, tasks without data and a policy out of range.
  StepOutcome run() override;
};

}  // namespace hone
