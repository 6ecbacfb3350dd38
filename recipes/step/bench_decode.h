// Step: decode prompts with and without a draft head; speed, acceptance, and proof of equal text.
#pragma once

#include <cstdint>
#include <string>

#include "recipes/engine/step.h"

namespace hone {

// Reads a checkpoint, a head and prompts. Without a head it measures plain decoding. The output
// folder (optional) gets bench.json with everything that does not depend on the machine's speed;
// speeds go to hone.run.json and the printed summary.
struct BenchDecodeStep : Step {
  std::string model;
  std::string draft;
  std::string prompts;
  std::string output;
  int64_t limit = 100;
  int64_t max_new_tokens = 256;
  int64_t draft_tokens = 4;
  int64_t batch = 1;
  double temperature = 0;
  int64_t seed = 0;
  std::string profile = "exact";
  bool allow_other_target = false;

  [[nodiscard]] std::string_view kind() const override { return "bench-decode"; }
  void visit(FieldVisitor& fields) override;
  // Summary: acceptance_length (tokens per verification, the target's own included, none counted
  // behind an answer's end), acceptance per drafted position, identical, tokens per second. Exit
  // code 1 when a text differs from plain decoding's.
  StepOutcome run() override;
};

// The figures as lines for a terminal.
std::string bench_table(const StepOutcome& outcome);

}  // namespace hone
