// The exponential that every op uses (softmax, SiLU, attention), vector and scalar alike.
//
// exp(x) = 2^n * (1 + r + r^2 P(r)), n = round(x / ln 2), r = x - n ln 2 in two FMA steps.
// Error at most 1 ulp over all float32 x (measured exhaustively); exp(0) == 1; +inf above
// 88.72; subnormal results down to x = -103.97, then +0. NaN stays NaN.
#pragma once

#include <span>

namespace hone {

// y = exp(x); sizes equal (UsageError), may alias.
void exp(std::span<const float> x, std::span<float> y);

}  // namespace hone
