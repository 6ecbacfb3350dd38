// Confidence intervals of one proportion and quantiles of the standard normal.
#pragma once

#include <cstdint>

namespace hone {

// A closed interval.
struct Interval {
  double low = 0;
  double high = 0;
  [[nodiscard]] bool inside(double lower, double upper) const {
    return low > lower && high < upper;
  }
};

// z with P(N(0,1) <= z) = p, 0 < p < 1. Throws UsageError otherwise.
double normal_quantile(double p);

// Wilson's score interval of `successes` out of `n` at two-sided `level` (0.95). n > 0,
// 0 <= successes <= n; throws UsageError otherwise. Wilson, JASA 22 (1927).
Interval wilson_interval(int64_t successes, int64_t n, double level);

// Exact (Clopper-Pearson) interval; [0, 3/n] or so when nothing was seen. Same conditions.
// Clopper and Pearson, Biometrika 26 (1934).
Interval clopper_pearson_interval(int64_t successes, int64_t n, double level);

}  // namespace hone
