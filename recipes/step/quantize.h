// The step `quantize`: checkpoint in, quantized checkpoint out.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "calibrate/stats/stats.h"
#include "core/io/checkpoint.h"
#include "quant/plan.h"
#include "recipes/engine/step.h"

namespace hone {

struct QuantizeStep : Step {
  std::string model;
  std::string stats;
  std::string preset;  // file of rules that stand before `rules` (recipes/step/preset.h)
  std::string output;
  std::string scheme;
  std::vector<std::string> rules;
  std::string select = "rules";
  double bits = 0;
  std::string scale = "amax";
  std::string scale_kind = "f32";
  std::string engine;
  std::string dialect;
  double max_shard_gb = 5;

  [[nodiscard]] std::string_view kind() const override { return "quantize"; }
  void visit(FieldVisitor& fields) override;
  // The checkpoint folder (weights, index, config, side files), README.md (model card), hone.json.
  // Summary: scheme, counts, bytes, bits, budget, warnings. Throws as make_plan and apply_plan do.
  StepOutcome run() override;

  // What run() would do; reads headers only. Also throws what run() would throw before its first
  // byte: missing statistics, statistics of other modules.
  [[nodiscard]] Plan plan() const;

 private:
  struct Inputs;
  [[nodiscard]] Inputs open() const;
  [[nodiscard]] std::string command() const;
  void write_card(const Inputs& inputs, CheckpointWriter& writer) const;
};

// "a=keep,b.{q,k}=nvfp4" -> {"a=keep", "b.{q,k}=nvfp4"}: splits at commas outside of braces, and
// joins what a flag parser has split inside them.
std::vector<std::string> split_rules(const std::vector<std::string>& values);

}  // namespace hone
