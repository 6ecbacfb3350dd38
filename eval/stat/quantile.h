// Quantiles of a sample, refused where the sample is too small to know them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace hone {

// Values that must lie beyond an upper quantile before it is reported: with 100 its rank is known
// to about +-20 % (2 / sqrt(100)).
inline constexpr int64_t kMinExceedances = 100;

// Linear interpolation between order statistics (R's type 7, NumPy's default). `sorted` ascending,
// not empty; 0 <= q <= 1. Throws UsageError otherwise.
double quantile_sorted(std::span<const double> sorted, double q);

// The same, or nothing when fewer than kMinExceedances values are expected beyond q.
std::optional<double> tail_quantile_sorted(std::span<const double> sorted, double q);

// Values needed before tail_quantile_sorted answers.
int64_t samples_for_quantile(double q);

}  // namespace hone
