#include "eval/stat/quantile.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"

namespace hone {

double quantile_sorted(std::span<const double> sorted, double q) {
  require(!sorted.empty(), "quantile of no values");
  require(q >= 0 && q <= 1, "quantile {} is not between 0 and 1", q);
  const double position = q * static_cast<double>(sorted.size() - 1);
  const size_t below = std::min(static_cast<size_t>(position), sorted.size() - 1);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  const double part = position - static_cast<double>(below);
  return sorted[below] + part * (sorted[above] - sorted[below]);
}

int64_t samples_for_quantile(double q) {
  require(q > 0 && q < 1, "tail quantile {} is not between 0 and 1", q);
  // 1 - q is inexact (1 - 0.99 > 0.01); without the slack 10 000 values would not do for p99.
  return static_cast<int64_t>(std::ceil(static_cast<double>(kMinExceedances) / (1 - q) - 1e-6));
}

std::optional<double> tail_quantile_sorted(std::span<const double> sorted, double q) {
  if (static_cast<int64_t>(sorted.size()) < samples_for_quantile(q)) return std::nullopt;
  return quantile_sorted(sorted, q);
}

}  // namespace hone
