#include "eval/stat/paired.h"

#include <algorithm>
#include <cmath>

#include <boost/math/distributions/binomial.hpp>

#include "core/base/error.h"

namespace hone {

void PairedCounts::add(bool reference, bool candidate) {
  if (reference && candidate) {
    ++both;
  } else if (reference) {
    ++lost;
  } else if (candidate) {
    ++gained;
  } else {
    ++neither;
  }
}

double PairedCounts::difference() const {
  return n() == 0 ? 0.0 : static_cast<double>(gained - lost) / static_cast<double>(n());
}

double PairedCounts::flip_rate() const {
  return n() == 0 ? 0.0 : static_cast<double>(flips()) / static_cast<double>(n());
}

McNemar mcnemar(const PairedCounts& counts) {
  if (counts.flips() == 0) return {};
  const boost::math::binomial_distribution<double> binomial(
      static_cast<double>(counts.flips()), 0.5
  );
  const double fewer = static_cast<double>(std::min(counts.lost, counts.gained));
  const double exact = std::min(1.0, 2 * boost::math::cdf(binomial, fewer));
  // An even split is the centre of the distribution: both tails count it, once is enough.
  const double observed = boost::math::pdf(binomial, fewer);
  return {exact, counts.lost == counts.gained ? 1.0 - observed / 2 : exact - observed};
}

namespace {

// Tango's score statistic for the hypothesis "difference = d", decreasing in d. Its variance uses
// the probability of a loss that maximizes the likelihood under the hypothesis.
double score(const PairedCounts& counts, double d) {
  const double n = static_cast<double>(counts.n());
  const double gained = static_cast<double>(counts.gained);
  const double lost = static_cast<double>(counts.lost);
  const double a = 2 * n;
  const double b = (2 * n - gained + lost) * d - gained - lost;
  const double c = -lost * d * (1 - d);
  const double loss = (std::sqrt(std::max(0.0, b * b - 4 * a * c)) - b) / (2 * a);
  const double variance = n * (2 * loss + d * (1 - d));
  const double distance = gained - lost - n * d;
  if (variance <= 0) return distance == 0 ? 0 : std::copysign(HUGE_VAL, distance);
  return distance / std::sqrt(variance);
}

// The d between `inside` (score of the right sign or zero) and `outside` where score = target.
double solve(const PairedCounts& counts, double target, double inside, double outside) {
  const bool rising = outside > inside;
  for (int i = 0; i < 200; ++i) {
    const double middle = (inside + outside) / 2;
    if (middle == inside || middle == outside) break;
    const double value = score(counts, middle);
    (rising ? value >= target : value <= target) ? inside = middle : outside = middle;
  }
  return inside;
}

}  // namespace

Interval tango_interval(const PairedCounts& counts, double level) {
  require(counts.n() > 0, "interval of a paired difference over no items");
  require(level > 0 && level < 1, "confidence level {} is not between 0 and 1", level);
  const double z = normal_quantile(0.5 + level / 2);
  const double estimate = counts.difference();
  return {solve(counts, z, estimate, -1.0), solve(counts, -z, estimate, 1.0)};
}

}  // namespace hone
