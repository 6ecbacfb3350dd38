// Taps: named hooks for activations. No model file knows who listens.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/tensor/tensor.h"

namespace hone {

// Where in the forward pass.
enum class TapKind : uint8_t {
  kBlockOutput,  // residual stream after decoder layer `layer` (layer 0 is the first block)
  kLinearInput,  // input of the module named `module`, before activation quantization
  kFinalNorm,    // input of lm_head
};

struct TapPoint {
  TapKind kind = TapKind::kBlockOutput;
  int64_t layer = -1;
  std::string_view module;  // kLinearInput: "model.layers.0.mlp.down_proj"
};

// Consumers. Called from the thread that runs forward(), in a fixed order.
class TapSink {
 public:
  virtual ~TapSink() = default;
  // Asked before a point is reached, so that nobody pays for taps that nobody wants.
  [[nodiscard]] virtual bool wants(const TapPoint& point) const = 0;
  // rows: [tokens of the forward call in input order, width] f32, valid during the call.
  virtual void on(const TapPoint& point, const TensorView& rows) = 0;
};

}  // namespace hone
