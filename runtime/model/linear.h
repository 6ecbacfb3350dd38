// A linear layer: y = q(x) W^T + b, with W as stored and q the profile's activation rule.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/model/model.h"
#include "runtime/model/tap.h"
#include "runtime/op/activation_quant.h"
#include "runtime/op/matmul.h"

namespace hone {

// What one forward call hands to every linear layer.
struct LinearCall {
  TapSink* taps = nullptr;
  const WeightOverrides* overrides = nullptr;
  std::vector<float>* scratch = nullptr;  // for quantized activations
};

// Parts of a layer. activation.rule is what the profile really applies, not what is on disk.
struct LinearParts {
  std::string module;  // "model.layers.0.self_attn.q_proj"
  int64_t layer = -1;
  LinearWeight weight;
  std::vector<float> bias;  // [out], or empty
  ActivationQuant activation;
};

// Immutable; safe for concurrent calls with different scratch.
class Linear {
 public:
  Linear() = default;
  explicit Linear(LinearParts parts);

  [[nodiscard]] const std::string& module() const { return parts_.module; }
  [[nodiscard]] int64_t layer() const { return parts_.layer; }
  [[nodiscard]] int64_t in() const { return parts_.weight.k(); }
  [[nodiscard]] int64_t out() const { return parts_.weight.n(); }
  [[nodiscard]] const LinearWeight& weight() const { return parts_.weight; }
  [[nodiscard]] bool empty() const { return parts_.weight.empty(); }

  // Offers x to the taps, then multiplies. x: [rows, in] f32; y: [rows, out] f32, no alias.
  void forward(const LinearCall& call, std::span<const float> x, std::span<float> y) const;
  // Without taps. An override of call.overrides replaces W; the activation rule stays.
  void multiply(const LinearCall& call, std::span<const float> x, std::span<float> y) const;
  // W as f32 [out, in].
  [[nodiscard]] Tensor dense() const;

 private:
  LinearParts parts_;
};

}  // namespace hone
