// Root-mean-square normalization (Zhang and Sennrich 2019) and its gradient.
//
// y[t, :] = (x[t, :] * s[t]) * w,  s[t] = 1 / sqrt(mean(x[t, :]^2) + eps)
// x, y: [tokens, dim] f32, may alias; w: [dim] f32.
// The sum of squares has the canonical order of runtime/op/matmul.h (one block).
#pragma once

#include <span>

namespace hone {

// tokens = x.size() / weight.size(). UsageError when sizes do not fit.
void rms_norm(
    std::span<const float> x, std::span<const float> weight, float eps, std::span<float> y
);

// Where the gradients go; both are overwritten. dx may be empty when not wanted, so may dweight.
struct RmsNormGradient {
  std::span<float> dx;       // [tokens, dim], may alias dy
  std::span<float> dweight;  // [dim]; rows are summed in order in float64
};
//   g = dy * w,  dx = s * (g - x * s^2 * mean(g * x)),  dw = sum_t dy[t] * x[t] * s[t]
void rms_norm_backward(
    std::span<const float> x,
    std::span<const float> weight,
    float eps,
    std::span<const float> dy,
    const RmsNormGradient& gradient
);

}  // namespace hone
