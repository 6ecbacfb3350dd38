// Step: run a corpus through a model and write the statistics file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "recipes/engine/step.h"

namespace hone {

// Reads a checkpoint and a corpus, writes an HDF5 statistics file (docs/stats_format.md).
struct CalibrateStep : Step {
  std::string model;
  std::string data;
  std::string output;
  int64_t tokens = 32768;
  int64_t max_length = 1024;
  int64_t answer_tokens = 128;
  std::vector<std::string> sensitivity = {"nvfp4"};
  int64_t sensitivity_tokens = 8192;

  [[nodiscard]] std::string_view kind() const override { return "calibrate"; }
  void visit(FieldVisitor& fields) override;
  StepOutcome run() override;
};

// The ten most sensitive groups and the totals, as a terminal table.
std::string calibration_table(const StepOutcome& outcome);

}  // namespace hone
