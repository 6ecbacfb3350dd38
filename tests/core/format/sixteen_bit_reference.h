// A brute-force view of a binary float format: the value of every code in float64, and rounding by
// search among them. Independent of the codecs' bit tricks.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace hone {

// Magnitudes of the codes 0 .. count-1 of a format with `mantissa` bits and exponent bias `bias`.
inline std::vector<double> magnitudes(int count, int mantissa, int bias) {
  std::vector<double> values;
  for (int code = 0; code < count; ++code) {
    const int exponent = code >> mantissa;
    const int fraction = code & ((1 << mantissa) - 1);
    const int unit = (exponent == 0 ? 1 : exponent) - bias - mantissa;
    values.push_back(std::ldexp(exponent == 0 ? fraction : (1 << mantissa) + fraction, unit));
  }
  return values;
}

// The code nearest to x >= 0, ties to the even code; count-1 for everything larger.
inline int nearest_code(const std::vector<double>& values, double x) {
  const auto above = std::ranges::lower_bound(values, x);
  if (above == values.end()) return static_cast<int>(values.size()) - 1;
  const int high = static_cast<int>(above - values.begin());
  if (high == 0 || *above == x) return high;
  const double down = x - values[high - 1];
  const double up = values[high] - x;
  if (down != up) return down < up ? high - 1 : high;
  return high % 2 == 0 ? high : high - 1;
}

}  // namespace hone
