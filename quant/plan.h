// The plan: what happens to every tensor of a checkpoint, and why. Plain data; select/ makes it,
// apply executes it, people and goldens read it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/json/json.h"
#include "core/tensor/tensor.h"
#include "quant/scheme.h"
#include "runtime/model/schema.h"

namespace hone {

// One tensor of the source checkpoint. The scales of a module that is stored quantized belong to
// its weight's entry.
struct PlanEntry {
  std::string tensor;  // "model.layers.0.mlp.up_proj.weight"
  std::string module;  // "model.layers.0.mlp.up_proj"; empty when it is no linear module
  Role role = Role::kOther;
  int64_t layer = -1;
  std::string fused_group;  // shares one global scale; empty: alone
  DType dtype = DType::kF32;
  Shape shape;
  // Set when the source stores the module quantized: weights are decoded first.
  std::optional<Format> stored;
  ActivationRule stored_activation = ActivationRule::kNone;
  // nullptr: kept. A kept module that is stored quantized is written as BF16 when anything else is
  // quantized to another format, since one folder speaks one dialect.
  const Scheme* scheme = nullptr;
  bool to_bf16 = false;
  std::string method;  // "rtn"; empty when kept
  std::string reason;
  bool selectable = false;  // a linear weight that the budget of `select auto` counts
  int64_t source_bytes = 0;
  int64_t output_bytes = 0;  // scales included

  [[nodiscard]] double bits() const;  // stored bits per element of the output
};

// Something that a serving engine will not accept or not do well.
struct PlanWarning {
  std::string engine;    // "vllm", "sglang", "tensorrt-llm"; empty: about the checkpoint itself
  bool refused = false;  // the engine refuses to load or to run it
  std::string text;
};

struct PlanBudget {
  double requested_bits = 0;
  double achieved_bits = 0;
  double predicted_kl = 0;  // sum of the chosen modules' sensitivities, nats per token
  bool optimal = true;      // no other choice within the budget has a smaller sum
};

struct Plan {
  std::string dialect;             // core/io/dialect.h; empty when nothing is quantized
  std::vector<PlanEntry> entries;  // in checkpoint order
  std::vector<PlanWarning> warnings;
  std::optional<PlanBudget> budget;
};

// The schemes of the quantized modules, in order of first appearance.
std::vector<const Scheme*> plan_schemes(const Plan& plan);

struct PlanSize {
  int64_t source_bytes = 0;
  int64_t output_bytes = 0;
  int64_t quantized_modules = 0;
  int64_t kept_modules = 0;    // linear modules left as they are
  double selectable_bits = 0;  // stored bits per selectable weight, scales included; 0: none
  double file_bits = 0;        // stored bits per parameter over the whole checkpoint
};
PlanSize plan_size(const Plan& plan);

// Aligned table. Tensors that differ only in numbers (layers, experts) and share everything else
// form one row: "model.layers.{0-5}.mlp.up_proj". With `full` every tensor has its own row.
std::string plan_table(const Plan& plan, bool full = false);
// Every tensor, warnings, sizes and the budget.
Json plan_json(const Plan& plan);

}  // namespace hone
