// Cross-entropy of logits against a target distribution or a target id, with its gradient.
//
// loss[t] = -weight[t] * sum_i target[t, i] * log_softmax(logits[t])_i
// dlogits[t, i] = weight[t] * (softmax(logits[t])_i * sum_j target[t, j] - target[t, i])
// logits, target, dlogits: [rows, dim] f32; dlogits may alias logits; weight: [rows] f32 (loss mask
// and mean factor; rows of weight 0 give loss 0 and gradient 0 whatever they hold).
#pragma once

#include <cstdint>
#include <span>

namespace hone {

struct CrossEntropyArgs {
  std::span<const float> logits;
  int64_t dim = 0;
  std::span<const float> weight;
};

// loss: [rows] f64. dlogits may be empty when no gradient is wanted. UsageError on sizes.
void soft_cross_entropy(
    const CrossEntropyArgs& args,
    std::span<const float> target,
    std::span<double> loss,
    std::span<float> dlogits
);
// Same with a one-hot target; ids: [rows], each in [0, dim) (UsageError) where its weight is not 0.
void cross_entropy(
    const CrossEntropyArgs& args,
    std::span<const int32_t> ids,
    std::span<double> loss,
    std::span<float> dlogits
);

}  // namespace hone
