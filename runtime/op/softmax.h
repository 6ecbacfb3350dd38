// Softmax and log-softmax of rows, with gradients.
//
//   softmax(x)_i = exp(x_i - m) / sum_j exp(x_j - m),  log_softmax(x)_i = (x_i - m) - log(sum)
// x, y: [rows, dim] f32, may alias; rows = x.size() / dim. Sums are float32 in 16 lanes and the
// lane tree of runtime/op/matmul.h; -inf entries (masks) get probability 0. A row that is -inf
// throughout gives NaN, as the formula does.
#pragma once

#include <cstdint>
#include <span>

namespace hone {

// UsageError when sizes do not fit.
void softmax(std::span<const float> x, int64_t dim, std::span<float> y);
void log_softmax(std::span<const float> x, int64_t dim, std::span<float> y);

// Gradient from the output y of softmax: dx = y * (dy - sum_j dy_j y_j). dx may alias dy.
void softmax_backward(
    std::span<const float> y, std::span<const float> dy, int64_t dim, std::span<float> dx
);
// Gradient from the output y of log_softmax: dx = dy - exp(y) * sum_j dy_j. dx may alias dy.
void log_softmax_backward(
    std::span<const float> y, std::span<const float> dy, int64_t dim, std::span<float> dx
);

}  // namespace hone
