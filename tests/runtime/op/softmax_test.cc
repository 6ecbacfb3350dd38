#include "runtime/op/softmax.h"

#include <cmath>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/reference/ops.h"
#include "tests/reference/tolerance.h"
#include "tests/runtime/op/finite_difference.h"
#include "tests/runtime/op/random_data.h"

namespace hone {
namespace {

using reference::Doubles;
using reference::to_double;
using testing_op::cpu_isas;
using testing_op::Environment;
using testing_op::first_difference;
using testing_op::random_floats;

constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(Softmax, AgreesWithTheReference) {
  for (const size_t dim : {1, 3, 16, 31, 2048, 5003}) {
    const std::vector<float> x = random_floats(4 * dim, dim, 5.0F);
    const Doubles probabilities = reference::softmax(to_double(x), dim);
    const Doubles logs = reference::log_softmax(to_double(x), dim);
    std::vector<float> y(x.size());
    softmax(x, static_cast<int64_t>(dim), y);
    for (size_t i = 0; i < y.size(); ++i) {
      const double tolerance =
          reference::softmax_tolerance(static_cast<int64_t>(dim), 30.0, probabilities[i]);
      ASSERT_NEAR(y[i], probabilities[i], tolerance) << dim;
    }
    log_softmax(x, static_cast<int64_t>(dim), y);
    for (size_t i = 0; i < y.size(); ++i) {
      // Absolute error: the relative one of the sum, and two roundings of numbers below 64.
      const double tolerance = reference::softmax_tolerance(static_cast<int64_t>(dim), 30.0, 1.0);
      ASSERT_NEAR(y[i], logs[i], tolerance) << dim;
    }
  }
}

TEST(Softmax, MaskedEntriesGetNothing) {
  std::vector<float> x = {-kInf, 1.0F, -kInf, 1.0F, -kInf};
  std::vector<float> y(5);
  softmax(x, 5, y);
  EXPECT_EQ(y, (std::vector<float>{0.0F, 0.5F, 0.0F, 0.5F, 0.0F}));
  log_softmax(x, 5, y);
  EXPECT_EQ(y[0], -kInf);
  EXPECT_NEAR(y[1], -std::log(2.0), 1e-7);
  const std::vector<float> all(3, -kInf);
  softmax(all, 3, std::span(y).first(3));
  EXPECT_TRUE(std::isnan(y[0]));
  const std::vector<float> nan = {1.0F, NAN, 2.0F};
  softmax(nan, 3, std::span(y).first(3));
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_TRUE(std::isnan(y[2]));
}

TEST(Softmax, DoesNotDependOnRowsThreadsOrIsa) {
  constexpr int64_t kDim = 777;
  const std::vector<float> x = random_floats(100 * kDim, 9, 4.0F);
  std::vector<float> expected(x.size());
  std::vector<float> expected_log(x.size());
  {
    const Environment environment(CpuIsa::kAvx2, 1);
    softmax(x, kDim, expected);
    log_softmax(x, kDim, expected_log);
  }
  for (const CpuIsa isa : cpu_isas()) {
    const Environment environment(isa, 3);
    std::vector<float> y = x;
    softmax(y, kDim, y);
    EXPECT_EQ(first_difference(y, expected), -1);
    y = x;
    log_softmax(y, kDim, y);
    EXPECT_EQ(first_difference(y, expected_log), -1);
    std::vector<float> one(kDim);
    softmax(std::span(x).subspan(50 * kDim, kDim), kDim, one);
    EXPECT_EQ(first_difference(one, std::span(expected).subspan(50 * kDim, kDim)), -1);
  }
}

TEST(Softmax, BackwardAgreesWithFiniteDifferences) {
  constexpr size_t kDim = 21;
  const std::vector<float> x = random_floats(2 * kDim, 11, 2.0F);
  const std::vector<float> dy = random_floats(x.size(), 12);
  const double tolerance = reference::finite_difference_tolerance(1e-5, 30, 20, 10);
  for (const CpuIsa isa : cpu_isas()) {
    const Environment environment(isa, 1);
    std::vector<float> y(x.size());
    std::vector<float> dx = dy;
    softmax(x, kDim, y);
    softmax_backward(y, dx, kDim, dx);
    const Doubles numeric = testing_op::numeric_gradient(
        [&](const Doubles& at) {
          return testing_op::weighted(reference::softmax(at, kDim), to_double(dy));
        },
        to_double(x),
        1e-5
    );
    for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(dx[i], numeric[i], tolerance) << i;

    log_softmax(x, kDim, y);
    dx = dy;
    log_softmax_backward(y, dx, kDim, dx);
    const Doubles numeric_log = testing_op::numeric_gradient(
        [&](const Doubles& at) {
          return testing_op::weighted(reference::log_softmax(at, kDim), to_double(dy));
        },
        to_double(x),
        1e-5
    );
    for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(dx[i], numeric_log[i], tolerance) << i;
  }
}

TEST(Softmax, RefusesWhatDoesNotFit) {
  std::vector<float> x(10);
  std::vector<float> y(9);
  EXPECT_THROW(softmax(x, 3, x), UsageError);
  EXPECT_THROW(softmax(x, 5, y), UsageError);
  EXPECT_THROW(log_softmax(x, 0, x), UsageError);
  EXPECT_THROW(softmax_backward(x, y, 5, x), UsageError);
  EXPECT_NO_THROW(softmax({}, 5, {}));
}

}  // namespace
}  // namespace hone
