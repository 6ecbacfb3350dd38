#include "runtime/op/cross_entropy.h"

#include <cmath>
#include <limits>

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
using testing_op::random_floats;

constexpr int64_t kRows = 4;
constexpr int64_t kDim = 37;

// Row weights; row 2 is masked.
const std::vector<float> kWeight = {1.0F, 0.25F, 0.0F, 2.0F};

double reference_loss(const Doubles& logits, const Doubles& target, int64_t row) {
  const Doubles logs = reference::log_softmax(logits, kDim);
  double sum = 0;
  for (int64_t i = 0; i < kDim; ++i) sum -= target[row * kDim + i] * logs[row * kDim + i];
  return sum * static_cast<double>(kWeight[row]);
}

double total_loss(const Doubles& logits, const Doubles& target) {
  double sum = 0;
  for (int64_t row = 0; row < kRows; ++row) sum += reference_loss(logits, target, row);
  return sum;
}

TEST(CrossEntropy, SoftTargets) {
  const std::vector<float> logits = random_floats(kRows * kDim, 1, 3.0F);
  const Doubles probabilities =
      reference::softmax(to_double(random_floats(kRows * kDim, 2, 2.0F)), kDim);
  std::vector<float> target(probabilities.begin(), probabilities.end());
  for (int64_t i = 0; i < kDim; ++i) target[i] *= 0.5F;  // mass 1/2: a cut vocabulary
  const Doubles numeric = testing_op::numeric_gradient(
      [&](const Doubles& at) { return total_loss(at, to_double(target)); }, to_double(logits), 1e-5
  );
  for (const CpuIsa isa : cpu_isas()) {
    const Environment environment(isa, 2);
    std::vector<double> loss(kRows);
    std::vector<float> gradient(logits.size(), NAN);
    soft_cross_entropy({logits, kDim, kWeight}, target, loss, gradient);
    for (int64_t row = 0; row < kRows; ++row) {
      const double expected = reference_loss(to_double(logits), to_double(target), row);
      EXPECT_NEAR(loss[row], expected, reference::softmax_tolerance(kDim, 20.0, 2.0)) << row;
    }
    const double tolerance = reference::finite_difference_tolerance(1e-5, 10, 20, 2);
    for (size_t i = 0; i < gradient.size(); ++i) {
      EXPECT_NEAR(gradient[i], numeric[i], tolerance) << i;
    }
    std::vector<double> again(kRows);
    soft_cross_entropy({logits, kDim, kWeight}, target, again, {});
    EXPECT_EQ(again, loss);
  }
}

TEST(CrossEntropy, HardTargetsAreOneHotSoftTargets) {
  const std::vector<float> logits = random_floats(kRows * kDim, 3, 3.0F);
  const std::vector<int32_t> ids = {0, 36, -1, 12};  // the masked row's id is not looked at
  std::vector<float> target(logits.size(), 0.0F);
  for (int64_t row = 0; row < kRows; ++row) {
    if (ids[row] >= 0) target[row * kDim + ids[row]] = 1.0F;
  }
  std::vector<double> soft_loss(kRows);
  std::vector<double> loss(kRows);
  std::vector<float> soft_gradient(logits.size());
  std::vector<float> gradient = logits;  // in place
  soft_cross_entropy({logits, kDim, kWeight}, target, soft_loss, soft_gradient);
  cross_entropy({gradient, kDim, kWeight}, ids, loss, gradient);
  for (int64_t row = 0; row < kRows; ++row) EXPECT_DOUBLE_EQ(loss[row], soft_loss[row]);
  for (size_t i = 0; i < gradient.size(); ++i) {
    EXPECT_NEAR(gradient[i], soft_gradient[i], reference::chain_tolerance(4, 2.0)) << i;
  }
}

TEST(CrossEntropy, MaskedRowsMayHoldAnything) {
  std::vector<float> logits(2 * 3, NAN);
  logits[3] = logits[4] = logits[5] = 1.0F;
  const std::vector<float> weight = {0.0F, 1.0F};
  std::vector<double> loss(2);
  std::vector<float> gradient(6);
  cross_entropy({logits, 3, weight}, std::vector<int32_t>{99, 1}, loss, gradient);
  EXPECT_EQ(loss[0], 0.0);
  EXPECT_EQ(gradient[0], 0.0F);
  EXPECT_NEAR(loss[1], std::log(3.0), 1e-6);
}

TEST(CrossEntropy, ImpossibleLogitsWithoutTargetMassCountNothing) {
  const std::vector<float> logits = {0.0F, -std::numeric_limits<float>::infinity(), 0.0F};
  const std::vector<float> target = {0.5F, 0.0F, 0.5F};
  const std::vector<float> weight = {1.0F};
  std::vector<double> loss(1);
  soft_cross_entropy({logits, 3, weight}, target, loss, {});
  EXPECT_NEAR(loss[0], std::log(2.0), 1e-6);
}

TEST(CrossEntropy, RefusesWhatDoesNotFit) {
  const std::vector<float> logits(6);
  const std::vector<float> weight(2, 1.0F);
  std::vector<double> loss(2);
  const std::vector<int32_t> outside = {0, 3};
  EXPECT_THROW(cross_entropy({logits, 3, weight}, outside, loss, {}), UsageError);
  EXPECT_THROW(cross_entropy({logits, 4, weight}, outside, loss, {}), UsageError);
  EXPECT_THROW(
      soft_cross_entropy({logits, 3, weight}, std::vector<float>(5), loss, {}), UsageError
  );
  std::vector<double> short_loss(1);
  EXPECT_THROW(soft_cross_entropy({logits, 3, weight}, logits, short_loss, {}), UsageError);
}

}  // namespace
}  // namespace hone
