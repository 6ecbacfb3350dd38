#include "eval/stat/interval.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/eval/stat/golden.h"

namespace hone {
namespace {

TEST(Interval, ProportionsMatchStatsmodels) {
  const Json golden = stat_golden();
  for (const Json& row : golden.at("proportion")) {
    const auto k = row.at("k").get<int64_t>();
    const auto n = row.at("n").get<int64_t>();
    SCOPED_TRACE(std::to_string(k) + "/" + std::to_string(n));
    const Interval wilson = wilson_interval(k, n, 0.95);
    EXPECT_NEAR(wilson.low, row.at("wilson")[0].get<double>(), 1e-12);
    EXPECT_NEAR(wilson.high, row.at("wilson")[1].get<double>(), 1e-12);
    const Interval exact = clopper_pearson_interval(k, n, 0.95);
    EXPECT_NEAR(exact.low, row.at("clopper_pearson")[0].get<double>(), 1e-10);
    EXPECT_NEAR(exact.high, row.at("clopper_pearson")[1].get<double>(), 1e-10);
  }
}

TEST(Interval, NormalQuantileMatchesScipy) {
  const Json golden = stat_golden();
  for (const Json& row : golden.at("normal"))
    EXPECT_NEAR(normal_quantile(row.at("p")), row.at("z").get<double>(), 1e-12);
}

TEST(Interval, RefusesImpossibleInput) {
  EXPECT_THROW((void)wilson_interval(0, 0, 0.95), UsageError);
  EXPECT_THROW((void)wilson_interval(3, 2, 0.95), UsageError);
  EXPECT_THROW((void)wilson_interval(-1, 2, 0.95), UsageError);
  EXPECT_THROW((void)clopper_pearson_interval(1, 2, 1.0), UsageError);
  EXPECT_THROW((void)normal_quantile(0), UsageError);
  EXPECT_THROW((void)normal_quantile(1), UsageError);
}

TEST(Interval, InsideIsStrict) {
  EXPECT_TRUE((Interval{-0.04, 0.04}.inside(-0.05, 0.05)));
  EXPECT_FALSE((Interval{-0.05, 0.04}.inside(-0.05, 0.05)));
  EXPECT_FALSE((Interval{-0.04, 0.05}.inside(-0.05, 0.05)));
}

}  // namespace
}  // namespace hone
