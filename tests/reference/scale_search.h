// Errors of blocks under a given scale, and the best scale by trying all, in float64: the
// independent side of the tests of quant/method/scale_search.
#pragma once

#include <limits>
#include <span>

#include "tests/reference/quant_formats.h"

namespace hone::reference {

// sum_i w[i] (x[i] - decode(encode(x[i] / step)))^2 of E2M1 codes; weights may be empty.
inline double fp4_error(std::span<const double> x, std::span<const double> weights, float step) {
  double error = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const auto scaled = static_cast<float>(x[i] / static_cast<double>(step));
    const double difference = x[i] - e2m1_value(e2m1_code(scaled)) * static_cast<double>(step);
    error += (weights.empty() ? 1.0 : weights[i]) * difference * difference;
  }
  return error;
}

inline double fp8_error(std::span<const double> x, std::span<const double> weights, float step) {
  double error = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const auto scaled = static_cast<float>(x[i] / static_cast<double>(step));
    const double difference = x[i] - e4m3_value(e4m3_code(scaled)) * static_cast<double>(step);
    error += (weights.empty() ? 1.0 : weights[i]) * difference * difference;
  }
  return error;
}

// The step of an E4M3 scale code under g, as the decoder computes it.
inline float nvfp4_step(int code, float g) {
  return static_cast<float>(e4m3_magnitude(code) * static_cast<double>(g));
}

struct BestScale {
  int code = 0;
  double error = std::numeric_limits<double>::infinity();
};
// All 126 positive codes; the smallest of equals.
inline BestScale nvfp4_best(std::span<const double> x, std::span<const double> weights, float g) {
  BestScale best;
  for (int code = 1; code <= 126; ++code) {
    const double error = fp4_error(x, weights, nvfp4_step(code, g));
    if (error < best.error) best = {code, error};
  }
  return best;
}

}  // namespace hone::reference
