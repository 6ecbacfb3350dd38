#include "eval/stat/quantile.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/eval/stat/golden.h"

namespace hone {
namespace {

TEST(Quantile, MatchesNumpy) {
  const Json golden = stat_golden().at("quantile");
  auto values = golden.at("values").get<std::vector<double>>();
  std::sort(values.begin(), values.end());
  for (const Json& row : golden.at("expected"))
    EXPECT_NEAR(quantile_sorted(values, row[0]), row[1].get<double>(), 1e-12);
}

TEST(Quantile, TailNeedsAHundredExceedances) {
  std::vector<double> values(9999);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  EXPECT_FALSE(tail_quantile_sorted(values, 0.99).has_value());
  values.push_back(9999);
  ASSERT_TRUE(tail_quantile_sorted(values, 0.99).has_value());
  EXPECT_NEAR(*tail_quantile_sorted(values, 0.99), 0.99 * 9999, 1e-9);
  EXPECT_FALSE(tail_quantile_sorted(values, 0.999).has_value());
  EXPECT_EQ(samples_for_quantile(0.9), 1000);
  EXPECT_EQ(samples_for_quantile(0.99), 10000);
  EXPECT_EQ(samples_for_quantile(0.999), 100000);
}

TEST(Quantile, RefusesImpossibleInput) {
  const std::vector<double> one = {2.0};
  EXPECT_EQ(quantile_sorted(one, 0.3), 2.0);
  EXPECT_THROW((void)quantile_sorted({}, 0.5), UsageError);
  EXPECT_THROW((void)quantile_sorted(one, 1.1), UsageError);
  EXPECT_THROW((void)samples_for_quantile(1), UsageError);
}

}  // namespace
}  // namespace hone
