#include "runtime/op/distribution.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/reference/ops.h"
#include "tests/runtime/op/random_data.h"

namespace hone {
namespace {

using testing_op::Environment;
using testing_op::random_floats;

constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<float> logs(const std::vector<double>& probabilities) {
  std::vector<float> x;
  for (const double p : probabilities) x.push_back(static_cast<float>(std::log(p)));
  return x;
}

TEST(Distribution, HandComputed) {
  // KL((3/4, 1/4) || (1/2, 1/2)) = ln 2 - H(1/4) = 0.130812..., TV = 1/4.
  const std::vector<RowDistance> d = row_distances(logs({0.75, 0.25}), logs({0.5, 0.5}), 2);
  EXPECT_NEAR(d[0].kl, 0.75 * std::log(1.5) + 0.25 * std::log(0.5), 1e-7);
  EXPECT_NEAR(d[0].tv, 0.25, 1e-7);
  EXPECT_NEAR(d[0].entropy, 0.5623351446188083, 1e-7);
  EXPECT_TRUE(d[0].top1_agrees) << "ties go to the lower id";
  const std::vector<RowDistance> other = row_distances(logs({0.25, 0.75}), logs({0.5, 0.5}), 2);
  EXPECT_FALSE(other[0].top1_agrees);
  EXPECT_EQ(other[0].top1_p, 1);
  EXPECT_EQ(other[0].top1_q, 0);
}

TEST(Distribution, EqualRowsHaveDistanceZero) {
  const std::vector<float> p = random_floats(3 * 501, 1, 4.0F);
  for (const RowDistance& d : row_distances(p, p, 501)) {
    EXPECT_EQ(d.kl, 0.0);
    EXPECT_EQ(d.tv, 0.0);
    EXPECT_TRUE(d.top1_agrees);
  }
}

TEST(Distribution, AgreesWithTheReferenceOnTinyDistances) {
  constexpr size_t kDim = 2048;
  const std::vector<float> p = random_floats(kDim, 2, 4.0F);
  std::vector<float> q = p;
  const std::vector<float> noise = random_floats(kDim, 3, 1e-4F);
  for (size_t i = 0; i < kDim; ++i) q[i] += noise[i];
  const reference::Doubles log_p = reference::log_softmax(reference::to_double(p), kDim);
  const reference::Doubles log_q = reference::log_softmax(reference::to_double(q), kDim);
  double kl = 0;
  double tv = 0;
  for (size_t i = 0; i < kDim; ++i) {
    // sum p (log p - log q) = sum (p (log p - log q) + q - p): no cancellation between terms.
    const double ratio = log_q[i] - log_p[i];
    kl += std::exp(log_p[i]) * (std::expm1(ratio) - ratio);
    tv += 0.5 * std::fabs(std::exp(log_p[i]) - std::exp(log_q[i]));
  }
  const std::vector<RowDistance> d = row_distances(p, q, kDim);
  EXPECT_GT(kl, 1e-10);
  EXPECT_NEAR(d[0].kl, kl, 1e-15 * kDim);
  EXPECT_NEAR(d[0].tv, tv, 1e-15 * kDim);
}

TEST(Distribution, ShiftsOfALogitRowDoNotCount) {
  const std::vector<float> p = {1.0F, 2.0F, 4.0F};
  const std::vector<float> q = {101.0F, 102.0F, 104.0F};
  EXPECT_NEAR(row_distances(p, q, 3)[0].kl, 0.0, 1e-14);
}

TEST(Distribution, ImpossibleTokens) {
  // Q excludes what P allows: infinite. P excludes: nothing to pay.
  const std::vector<float> open = {0.0F, 0.0F};
  const std::vector<float> masked = {0.0F, -kInf};
  EXPECT_EQ(row_distances(open, masked, 2)[0].kl, std::numeric_limits<double>::infinity());
  const RowDistance d = row_distances(masked, open, 2)[0];
  EXPECT_NEAR(d.kl, std::log(2.0), 1e-15);
  EXPECT_NEAR(d.tv, 0.5, 1e-15);
  EXPECT_EQ(row_distances(masked, masked, 2)[0].kl, 0.0);
}

TEST(Distribution, TokenLogProbs) {
  const std::vector<float> logits = random_floats(5 * 77, 4, 3.0F);
  const std::vector<int32_t> ids = {0, 76, 3, 3, 40};
  const reference::Doubles expected = reference::log_softmax(reference::to_double(logits), 77);
  const std::vector<double> found = token_log_probs(logits, 77, ids);
  for (size_t row = 0; row < 5; ++row) {
    EXPECT_NEAR(found[row], expected[row * 77 + ids[row]], 1e-13);
  }
}

TEST(Distribution, DoesNotDependOnThreads) {
  const std::vector<float> p = random_floats(40 * 300, 5);
  const std::vector<float> q = random_floats(40 * 300, 6);
  std::vector<double> one;
  std::vector<double> three;
  {
    const Environment environment(CpuIsa::kAvx2, 1);
    for (const RowDistance& d : row_distances(p, q, 300)) one.push_back(d.kl);
  }
  {
    const Environment environment(CpuIsa::kAvx2, 3);
    for (const RowDistance& d : row_distances(p, q, 300)) three.push_back(d.kl);
  }
  EXPECT_EQ(one, three);
}

TEST(Distribution, NamesBrokenRows) {
  std::vector<float> p = random_floats(2 * 4, 7);
  std::vector<float> q = p;
  q[6] = NAN;
  EXPECT_THAT(
      [&] { row_distances(p, q, 4); },
      ::testing::ThrowsMessage<DataError>(::testing::AllOf(
          ::testing::HasSubstr("candidate"), ::testing::HasSubstr("logit 2 of row 1")
      ))
  );
  q[6] = kInf;
  EXPECT_THROW(row_distances(p, q, 4), DataError);
  EXPECT_THROW(row_distances(p, std::span(q).first(4), 4), UsageError);
  EXPECT_THROW(row_distances(p, p, 3), UsageError);
  const std::vector<float> masked(4, -kInf);
  EXPECT_THROW(row_distances(masked, masked, 4), DataError);
  EXPECT_THROW(token_log_probs(p, 4, std::vector<int32_t>{0, 4}), UsageError);
  EXPECT_THROW(token_log_probs(p, 4, std::vector<int32_t>{0}), UsageError);
}

}  // namespace
}  // namespace hone
