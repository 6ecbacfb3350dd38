// The gated feed-forward layer (SwiGLU).
//
//   y = (silu(x Wgate^T) * x Wup^T) Wdown^T
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/model/block/context.h"
#include "runtime/model/weights.h"

namespace hone {

class GatedMlpBlock {
 public:
  // Reads the three projections of `layer` in the names of decoder_names. Throws as WeightReader.
  GatedMlpBlock(WeightReader& reader, const ModelConfig& config, int64_t layer);

  // x: [rows, hidden] f32 (normed); y: [rows, hidden] f32.
  void forward(const BlockContext& context, std::span<const float> x, std::span<float> y) const;
  // In execution order.
  void append_modules(std::vector<const Linear*>& modules) const;

 private:
  Linear gate_;
  Linear up_;
  Linear down_;
};

}  // namespace hone
