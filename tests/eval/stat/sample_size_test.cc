#include "eval/stat/sample_size.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace hone {
namespace {

// n = (z95 + z80)^2 d / margin^2 = 6.1826 d / margin^2, computed by hand; 8.5638 at 90 % power.
TEST(SampleSize, NonInferiority) {
  EXPECT_EQ(items_for_non_inferiority({.flip_rate = 0.01, .margin = 0.01}), 619);
  EXPECT_EQ(items_for_non_inferiority({.flip_rate = 0.02, .margin = 0.01}), 1237);
  EXPECT_EQ(items_for_non_inferiority({.flip_rate = 0.08, .margin = 0.02}), 1237);
  EXPECT_EQ(items_for_non_inferiority({.flip_rate = 0.01, .margin = 0.01, .power = 0.9}), 857);
}

TEST(SampleSize, EquivalenceNeedsMore) {
  // With no true difference both tests must pass: 80 % power is the 90 % column.
  EXPECT_EQ(items_for_equivalence({.flip_rate = 0.01, .margin = 0.01}), 857);
  EXPECT_EQ(items_for_equivalence({.flip_rate = 0, .margin = 0.01}), 0);
}

TEST(SampleSize, MarginIsTheInverse) {
  const EquivalencePlan plan{.flip_rate = 0.04};
  const double margin = margin_for_equivalence(plan, 1319);
  EXPECT_NEAR(margin, 0.0161, 5e-5);
  EXPECT_EQ(items_for_equivalence({.flip_rate = 0.04, .margin = margin * 1.000001}), 1319);
}

TEST(SampleSize, RefusesImpossiblePlans) {
  EXPECT_THROW((void)items_for_equivalence({.flip_rate = -0.1}), UsageError);
  EXPECT_THROW((void)items_for_equivalence({.flip_rate = 0.1, .margin = 0}), UsageError);
  EXPECT_THROW((void)items_for_non_inferiority({.flip_rate = 0.1, .power = 1}), UsageError);
  EXPECT_THROW((void)margin_for_equivalence({.flip_rate = 0.1}, 0), UsageError);
}

}  // namespace
}  // namespace hone
