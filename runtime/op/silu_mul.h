// The gate of SwiGLU and its gradient.
//
// y = silu(gate) * up,  silu(g) = g / (1 + exp(-g))
// All arguments have one size; y may alias gate or up. The exponential is that of runtime/op/exp.h.
#pragma once

#include <span>

namespace hone {

// UsageError when sizes differ.
void silu_mul(std::span<const float> gate, std::span<const float> up, std::span<float> y);

// s = sigmoid(gate):  dgate = dy * up * s * (1 + gate * (1 - s)),  dup = dy * gate * s.
// dgate may alias gate, dup may alias up.
struct SiluMulGradient {
  std::span<float> dgate;
  std::span<float> dup;
};
void silu_mul_backward(
    std::span<const float> gate,
    std::span<const float> up,
    std::span<const float> dy,
    const SiluMulGradient& gradient
);

}  // namespace hone
