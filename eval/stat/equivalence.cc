#include "eval/stat/equivalence.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "core/base/error.h"

namespace hone {
namespace {

constexpr double kAlpha = 0.05;

int severity(Verdict verdict) {
  return static_cast<int>(verdict);
}

}  // namespace

std::string_view verdict_name(Verdict verdict) {
  static constexpr std::array<std::string_view, 5> kNames = {
      "equivalent", "not-worse", "inconclusive", "worse", "invalid"};
  return kNames.at(static_cast<size_t>(verdict));
}

int verdict_exit_code(Verdict verdict) {
  static constexpr std::array<int, 5> kCodes = {0, 0, 4, 3, 5};
  return kCodes.at(static_cast<size_t>(verdict));
}

Verdict worse_of(Verdict a, Verdict b) {
  return severity(a) >= severity(b) ? a : b;
}

Decision decide(const PairedCounts& counts, double margin, double adjusted_p) {
  require(margin > 0 && margin < 1, "margin {} is not between 0 and 1 (0.05 is 5 points)", margin);
  Decision decision;
  decision.interval95 = tango_interval(counts, 1 - kAlpha);
  decision.interval90 = tango_interval(counts, 1 - 2 * kAlpha);
  decision.test = mcnemar(counts);
  decision.adjusted_p = std::max(adjusted_p, decision.test.exact);
  const Interval& range = decision.interval90;
  decision.provable_margin = std::max(std::abs(range.low), std::abs(range.high));
  const double reference =
      static_cast<double>(counts.reference_right()) / static_cast<double>(counts.n());
  decision.uninformative = reference <= margin;
  if (range.inside(-margin, margin)) {
    decision.verdict = Verdict::kEquivalent;
  } else if (range.low > -margin) {
    decision.verdict = Verdict::kNotWorse;
  } else if (counts.lost > counts.gained && decision.adjusted_p < kAlpha) {
    decision.verdict = Verdict::kWorse;
  }
  if (decision.uninformative && decision.verdict != Verdict::kWorse)
    decision.verdict = Verdict::kInconclusive;
  return decision;
}

std::vector<double> holm(const std::vector<double>& p) {
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return p[a] < p[b]; });
  std::vector<double> adjusted(p.size());
  double floor = 0;
  for (size_t rank = 0; rank < order.size(); ++rank) {
    floor = std::max(floor, std::min(1.0, static_cast<double>(p.size() - rank) * p[order[rank]]));
    adjusted[order[rank]] = floor;
  }
  return adjusted;
}

}  // namespace hone
