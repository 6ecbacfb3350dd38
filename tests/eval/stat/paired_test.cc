#include "eval/stat/paired.h"

#include <cmath>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/eval/stat/golden.h"

namespace hone {
namespace {

PairedCounts counts_of(const Json& table) {
  return {table[0], table[1], table[2], table[3]};
}

TEST(PairedCounts, AddsOutcomes) {
  PairedCounts counts;
  counts.add(true, true);
  counts.add(true, false);
  counts.add(true, false);
  counts.add(false, true);
  counts.add(false, false);
  EXPECT_EQ(counts, (PairedCounts{1, 2, 1, 1}));
  EXPECT_EQ(counts.n(), 5);
  EXPECT_EQ(counts.reference_right(), 3);
  EXPECT_EQ(counts.candidate_right(), 2);
  EXPECT_DOUBLE_EQ(counts.difference(), -0.2);
  EXPECT_DOUBLE_EQ(counts.flip_rate(), 0.6);
  EXPECT_EQ(PairedCounts{}.difference(), 0);
}

TEST(McNemar, MatchesStatsmodels) {
  const Json golden = stat_golden();
  for (const Json& row : golden.at("paired")) {
    SCOPED_TRACE(row.at("table").dump());
    const McNemar test = mcnemar(counts_of(row.at("table")));
    EXPECT_NEAR(test.exact, row.at("exact").get<double>(), 1e-12);
    EXPECT_NEAR(test.mid_p, row.at("mid_p").get<double>(), 1e-12);
  }
}

// Fagerland, Lydersen, Laake (2013), airway hyper-responsiveness: 1, 1, 7, 12.
TEST(McNemar, PublishedExample) {
  const McNemar test = mcnemar({1, 1, 7, 12});
  EXPECT_NEAR(test.exact, 0.0703, 5e-5);
  EXPECT_NEAR(test.mid_p, 0.0391, 5e-5);
}

TEST(McNemar, NoFlipsSayNothing) {
  EXPECT_EQ(mcnemar({10, 0, 0, 3}).exact, 1);
  EXPECT_EQ(mcnemar({10, 0, 0, 3}).mid_p, 1);
}

TEST(Tango, MatchesNumericalMaximization) {
  const Json golden = stat_golden();
  for (const Json& row : golden.at("paired")) {
    SCOPED_TRACE(row.at("table").dump());
    const PairedCounts counts = counts_of(row.at("table"));
    for (const auto& [level, key] :
         {std::pair(0.95, "interval95"), std::pair(0.90, "interval90")}) {
      const Interval interval = tango_interval(counts, level);
      EXPECT_NEAR(interval.low, row.at(key)[0].get<double>(), 2e-7);
      EXPECT_NEAR(interval.high, row.at(key)[1].get<double>(), 2e-7);
    }
  }
}

TEST(Tango, WithoutFlipsHasTheClosedForm) {
  // |d| / sqrt(|d| (1 - |d|) / n) = z gives |d| = z^2 / (n + z^2).
  const double z = normal_quantile(0.95);
  const Interval interval = tango_interval({200, 0, 0, 100}, 0.90);
  EXPECT_NEAR(interval.high, z * z / (300 + z * z), 1e-12);
  EXPECT_NEAR(interval.low, -interval.high, 1e-12);
}

TEST(Tango, SwapsWithTheSides) {
  for (const PairedCounts& c : {PairedCounts{20, 3, 9, 8}, PairedCounts{0, 4, 0, 0}}) {
    const Interval a = tango_interval(c, 0.95);
    const Interval b = tango_interval({c.both, c.gained, c.lost, c.neither}, 0.95);
    EXPECT_NEAR(a.low, -b.high, 1e-12);
    EXPECT_NEAR(a.high, -b.low, 1e-12);
  }
}

TEST(Tango, KeepsItsLevel) {
  // Exact coverage by enumerating the trinomial (lost, gained, rest) with n = 30.
  const int n = 30;
  const double p_lost = 0.12;
  const double p_gained = 0.05;
  double covered = 0;
  for (int lost = 0; lost <= n; ++lost) {
    for (int gained = 0; lost + gained <= n; ++gained) {
      const int rest = n - lost - gained;
      const double log_p = std::lgamma(n + 1) - std::lgamma(lost + 1) - std::lgamma(gained + 1) -
                           std::lgamma(rest + 1) + lost * std::log(p_lost) +
                           gained * std::log(p_gained) + rest * std::log(1 - p_lost - p_gained);
      const Interval interval = tango_interval({rest, lost, gained, 0}, 0.95);
      if (interval.low <= p_gained - p_lost && p_gained - p_lost <= interval.high)
        covered += std::exp(log_p);
    }
  }
  EXPECT_GT(covered, 0.93);
  EXPECT_LT(covered, 0.98);
}

TEST(Tango, RefusesImpossibleInput) {
  EXPECT_THROW((void)tango_interval({}, 0.95), UsageError);
  EXPECT_THROW((void)tango_interval({1, 0, 0, 0}, 1.5), UsageError);
}

}  // namespace
}  // namespace hone
