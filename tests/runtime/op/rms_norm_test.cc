#include "runtime/op/rms_norm.h"

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

constexpr float kEps = 1e-5F;

TEST(RmsNorm, AgreesWithTheReference) {
  for (const size_t dim : {1, 15, 16, 33, 256, 4096}) {
    const std::vector<float> x = random_floats(5 * dim, dim, 3.0F);
    const std::vector<float> weight = random_floats(dim, dim + 1);
    const Doubles expected =
        reference::rms_norm(to_double(x), to_double(weight), static_cast<double>(kEps));
    std::vector<float> y(x.size());
    rms_norm(x, weight, kEps, y);
    // The sum of squares errs by dim / 16 + 5 roundings (halved by the root); mean, eps, root,
    // reciprocal and two products round once each.
    const double roundings = (static_cast<double>(dim) / 16 + 5) / 2 + 6;
    for (size_t i = 0; i < y.size(); ++i) {
      ASSERT_NEAR(y[i], expected[i], reference::chain_tolerance(roundings, expected[i])) << dim;
    }
  }
}

TEST(RmsNorm, DoesNotDependOnRowsThreadsOrIsa) {
  constexpr size_t kDim = 1003;
  const std::vector<float> x = random_floats(300 * kDim, 1);
  const std::vector<float> weight = random_floats(kDim, 2);
  std::vector<float> expected(x.size());
  {
    const Environment environment(CpuIsa::kAvx2, 1);
    for (size_t r = 0; r < 300; ++r) {
      rms_norm(
          std::span(x).subspan(r * kDim, kDim),
          weight,
          kEps,
          std::span(expected).subspan(r * kDim, kDim)
      );
    }
  }
  for (const CpuIsa isa : cpu_isas()) {
    for (const int threads : {1, 3}) {
      const Environment environment(isa, threads);
      std::vector<float> y = x;
      rms_norm(y, weight, kEps, y);  // in place
      EXPECT_EQ(first_difference(y, expected), -1);
    }
  }
}

TEST(RmsNorm, BackwardAgreesWithFiniteDifferences) {
  for (const size_t dim : {7, 32, 45}) {
    const std::vector<float> x = random_floats(3 * dim, 10 + dim);
    const std::vector<float> weight = random_floats(dim, 20 + dim);
    const std::vector<float> dy = random_floats(x.size(), 30 + dim);
    std::vector<float> dx(x.size());
    std::vector<float> dweight(dim);
    rms_norm_backward(x, weight, kEps, dy, {dx, dweight});
    const auto loss = [&](const Doubles& at, const Doubles& w) {
      return testing_op::weighted(
          reference::rms_norm(at, w, static_cast<double>(kEps)), to_double(dy)
      );
    };
    const Doubles numeric_x = testing_op::numeric_gradient(
        [&](const Doubles& at) { return loss(at, to_double(weight)); }, to_double(x), 1e-5
    );
    const Doubles numeric_w = testing_op::numeric_gradient(
        [&](const Doubles& w) { return loss(to_double(x), w); }, to_double(weight), 1e-5
    );
    const double tolerance = reference::finite_difference_tolerance(1e-5, 100, 100, 30);
    for (size_t i = 0; i < dx.size(); ++i) ASSERT_NEAR(dx[i], numeric_x[i], tolerance) << dim;
    for (size_t i = 0; i < dim; ++i) ASSERT_NEAR(dweight[i], numeric_w[i], tolerance) << dim;
  }
}

TEST(RmsNorm, BackwardIsTheSameOnAllThreadsAndMayOverwriteDy) {
  const std::vector<float> x = random_floats(200 * 300, 41);
  const std::vector<float> weight = random_floats(300, 42);
  const std::vector<float> dy = random_floats(x.size(), 43);
  std::vector<float> dx(x.size());
  std::vector<float> dweight(300);
  {
    const Environment environment(CpuIsa::kAvx2, 1);
    rms_norm_backward(x, weight, kEps, dy, {dx, dweight});
  }
  for (const CpuIsa isa : cpu_isas()) {
    const Environment environment(isa, 3);
    std::vector<float> inout = dy;
    std::vector<float> dw(300);
    rms_norm_backward(x, weight, kEps, inout, {inout, dw});
    EXPECT_EQ(first_difference(inout, dx), -1);
    EXPECT_EQ(first_difference(dw, dweight), -1);
  }
}

TEST(RmsNorm, RefusesWhatDoesNotFit) {
  std::vector<float> x(10);
  std::vector<float> y(9);
  const std::vector<float> weight(4);
  EXPECT_THROW(rms_norm(x, weight, kEps, x), UsageError);
  EXPECT_THROW(rms_norm(x, std::span(weight).first(2), kEps, y), UsageError);
  EXPECT_THROW(rms_norm(x, {}, kEps, x), UsageError);
  EXPECT_NO_THROW(rms_norm({}, weight, kEps, {}));
  EXPECT_THROW(rms_norm_backward(x, std::span(weight).first(2), kEps, y, {}), UsageError);
}

}  // namespace
}  // namespace hone
