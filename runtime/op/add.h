// Residual and bias additions.
#pragma once

#include <span>

namespace hone {

// y += x, element by element; sizes equal (UsageError).
void add(std::span<const float> x, std::span<float> y);

// y[t, :] += bias for every row t. y: [tokens, dim], bias: [dim].
void add_bias(std::span<const float> bias, std::span<float> y);

}  // namespace hone
