// Grouped-query attention with rotary embedding over the paged cache.
//
//   q, k, v = x Wq^T, x Wk^T, x Wv^T;  q, k rotated by position;  k, v stored
//   y = attention(q, cache, scale 1/sqrt(head_dim)) Wo^T
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/model/block/context.h"
#include "runtime/model/weights.h"

namespace hone {

class GqaBlock {
 public:
  // Reads the four projections of `layer` in the names of decoder_names. Throws as WeightReader.
  GqaBlock(WeightReader& reader, const ModelConfig& config, int64_t layer);

  // x: [rows, hidden] f32 (normed); y: [rows, hidden] f32. Writes the rows' slots of the cache.
  void forward(const BlockContext& context, std::span<const float> x, std::span<float> y) const;
  // In execution order.
  void append_modules(std::vector<const Linear*>& modules) const;

 private:
  Linear q_;
  Linear k_;
  Linear v_;
  Linear o_;
};

}  // namespace hone
