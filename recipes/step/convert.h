// The step `convert`: a checkpoint in another form, without choosing new codes.
#pragma once

#include <string>

#include "quant/convert.h"
#include "recipes/engine/step.h"

namespace hone {

struct ConvertStep : Step {
  std::string model;
  std::string lora;
  std::string output;
  std::string to;
  double max_shard_gb = 5;

  [[nodiscard]] std::string_view kind() const override { return "convert"; }
  void visit(FieldVisitor& fields) override;
  // The checkpoint folder (weights, index, config, side files), README.md, hone.json. Summary:
  // counts of copied, decoded, merged and replaced tensors, bytes. Throws as convert_checkpoint
  // does.
  StepOutcome run() override;

 private:
  [[nodiscard]] std::string card(const ConvertCounts& counts) const;
};

// What was done, in one line: "12 weights merged with a LoRA adapter, 44 tensors copied, 10.0 MiB".
std::string convert_line(const ConvertCounts& counts);

}  // namespace hone
