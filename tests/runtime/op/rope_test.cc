#include "runtime/op/rope.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/reference/ops.h"
#include "tests/reference/tolerance.h"
#include "tests/runtime/op/random_data.h"

namespace hone {
namespace {

using testing_op::Environment;
using testing_op::first_difference;
using testing_op::random_floats;

TEST(Rope, AgreesWithTheReference) {
  const std::vector<int64_t> positions = {0, 1, 2, 77, 4095, 131071};
  for (const int64_t head_dim : {2, 32, 64, 80}) {
    const std::vector<double> inv_freq = rope_inv_freq(head_dim, 500000.0);
    EXPECT_EQ(inv_freq.front(), 1.0);
    std::vector<float> x = random_floats(positions.size() * 3 * head_dim, head_dim);
    const reference::Doubles expected =
        reference::rope(reference::to_double(x), positions, inv_freq, 3, head_dim);
    const std::vector<float> before = x;
    rope(rope_rows(inv_freq, positions), head_dim, x);
    for (size_t i = 0; i < x.size(); ++i) {
      // Two products of a rounded cosine or sine (2 roundings each) and their sum; |a| + |b| <= 10.
      ASSERT_NEAR(x[i], expected[i], reference::chain_tolerance(3, 10.0)) << i;
    }
    // Position 0 turns nothing.
    EXPECT_EQ(
        first_difference(std::span(x).first(3 * head_dim), std::span(before).first(3 * head_dim)),
        -1
    );
  }
}

TEST(Rope, TurnsOnlyTheRotaryPart) {
  const std::vector<double> inv_freq = rope_inv_freq(4, 10000.0);
  std::vector<float> x = random_floats(2 * 10, 5);
  const std::vector<float> before = x;
  rope(rope_rows(inv_freq, std::vector<int64_t>{3, 9}), 10, x);
  for (size_t i = 0; i < x.size(); ++i) {
    if (i % 10 >= 4) {
      EXPECT_EQ(x[i], before[i]);
    }
  }
  EXPECT_NE(x[0], before[0]);
}

TEST(Rope, ScalesByTheAttentionFactor) {
  const RopeRows rows = rope_rows(rope_inv_freq(2, 10000.0), std::vector<int64_t>{0}, 1.25);
  EXPECT_EQ(rows.cos[0], 1.25F);
  EXPECT_EQ(rows.sin[0], 0.0F);
}

TEST(Rope, BackwardIsTheTransposedRotation) {
  // <dy, R x> = <R^T dy, x> for the linear map R.
  const std::vector<int64_t> positions = {4, 1000, 12};
  const RopeRows rows = rope_rows(rope_inv_freq(16, 10000.0), positions);
  const std::vector<float> x = random_floats(3 * 2 * 20, 1);
  const std::vector<float> dy = random_floats(x.size(), 2);
  std::vector<float> y = x;
  std::vector<float> dx = dy;
  rope(rows, 20, y);
  rope_backward(rows, 20, dx);
  double left = 0;
  double right = 0;
  double norm = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    left += static_cast<double>(dy[i]) * static_cast<double>(y[i]);
    right += static_cast<double>(dx[i]) * static_cast<double>(x[i]);
    norm += std::fabs(static_cast<double>(dx[i]) * static_cast<double>(x[i]));
  }
  EXPECT_NEAR(left, right, reference::chain_tolerance(6, norm));
  EXPECT_GT(std::fabs(left - right) + std::fabs(left), 0.1) << "a trivial identity";
}

TEST(Rope, DoesNotDependOnThreads) {
  std::vector<int64_t> positions(4000);
  for (size_t i = 0; i < positions.size(); ++i) positions[i] = static_cast<int64_t>(i);
  const RopeRows rows = rope_rows(rope_inv_freq(32, 10000.0), positions);
  const std::vector<float> x = random_floats(positions.size() * 64, 3);
  std::vector<float> one = x;
  std::vector<float> three = x;
  {
    const Environment environment(CpuIsa::kAvx2, 1);
    rope(rows, 32, one);
  }
  {
    const Environment environment(CpuIsa::kAvx2, 3);
    rope(rows, 32, three);
  }
  EXPECT_EQ(first_difference(one, three), -1);
}

TEST(Rope, RefusesWhatDoesNotFit) {
  const RopeRows rows = rope_rows(rope_inv_freq(8, 10000.0), std::vector<int64_t>{1, 2});
  std::vector<float> x(30);
  EXPECT_THROW(rope(rows, 6, x), UsageError);
  EXPECT_THROW(rope(rows, 8, x), UsageError);
  EXPECT_THROW(rope_inv_freq(7, 10000.0), UsageError);
  EXPECT_THROW(rope_inv_freq(8, -1.0), UsageError);
}

}  // namespace
}  // namespace hone
