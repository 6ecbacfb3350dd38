#include "eval/stat/interval.h"

#include <algorithm>
#include <cmath>

#include <boost/math/distributions/beta.hpp>
#include <boost/math/distributions/normal.hpp>

#include "core/base/error.h"

namespace hone {
namespace {

void check_proportion(int64_t successes, int64_t n, double level) {
  require(n > 0, "interval of a proportion over {} items: at least one is needed", n);
  require(successes >= 0 && successes <= n, "{} successes out of {} items", successes, n);
  require(level > 0 && level < 1, "confidence level {} is not between 0 and 1", level);
}

}  // namespace

double normal_quantile(double p) {
  require(p > 0 && p < 1, "normal quantile of {}: expected a value between 0 and 1", p);
  return boost::math::quantile(boost::math::normal_distribution<double>(), p);
}

Interval wilson_interval(int64_t successes, int64_t n, double level) {
  check_proportion(successes, n, level);
  const double z = normal_quantile(0.5 + level / 2);
  const double count = static_cast<double>(n);
  const double p = static_cast<double>(successes) / count;
  const double z2n = z * z / count;
  const double centre = (p + z2n / 2) / (1 + z2n);
  const double half = z / (1 + z2n) * std::sqrt(p * (1 - p) / count + z2n / (4 * count));
  // The ends are exactly 0 and 1 there; rounding would leave 1e-18.
  return {
      successes == 0 ? 0.0 : std::max(0.0, centre - half),
      successes == n ? 1.0 : std::min(1.0, centre + half)};
}

Interval clopper_pearson_interval(int64_t successes, int64_t n, double level) {
  check_proportion(successes, n, level);
  const double tail = (1 - level) / 2;
  const double k = static_cast<double>(successes);
  const double rest = static_cast<double>(n - successes);
  using Beta = boost::math::beta_distribution<double>;
  return {
      successes == 0 ? 0.0 : boost::math::quantile(Beta(k, rest + 1), tail),
      successes == n ? 1.0 : boost::math::quantile(Beta(k + 1, rest), 1 - tail)};
}

}  // namespace hone
