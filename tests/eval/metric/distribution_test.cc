#include "eval/metric/distribution.h"

#include <cmath>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/rng.h"

namespace hone {
namespace {

ScoredToken token(int32_t document, int32_t position, double kl, bool agree = true) {
  ScoredToken out;
  out.document = document;
  out.position = position;
  out.distance.kl = kl;
  out.distance.tv = kl / 2;
  out.distance.top1_agrees = agree;
  out.reference_logprob = -1;
  out.candidate_logprob = -1 - kl;
  return out;
}

TEST(Distribution, SumsByHand) {
  DistributionCollector collector;
  collector.add(token(0, 0, 0.1));
  collector.add(token(0, 1, 0.3, false));
  collector.add(token(2, 0, 0.2));  // document 1 has no scored token
  const DistributionSummary s = collector.summary(0, 2);
  EXPECT_EQ(s.documents, 2);
  EXPECT_EQ(s.tokens, 3);
  EXPECT_NEAR(s.mean_kl.value, 0.2, 1e-15);
  EXPECT_NEAR(s.median_kl, 0.2, 1e-15);
  EXPECT_EQ(s.max_kl, 0.3);
  EXPECT_NEAR(s.mean_tv.value, 0.1, 1e-15);
  EXPECT_NEAR(s.top1.value, 2.0 / 3, 1e-15);
  EXPECT_EQ(s.same_top1_documents, 1);
  EXPECT_NEAR(s.reference_perplexity, std::exp(1.0), 1e-12);
  EXPECT_NEAR(s.candidate_perplexity, std::exp(1.2), 1e-12);
  EXPECT_NEAR(s.perplexity_ratio.value, std::exp(0.2), 1e-12);
  // Resampling two documents gives 0.2 in every draw but the mixed ones: still 0.2.
  EXPECT_NEAR(s.mean_kl.interval95.low, 0.2, 1e-12);
  EXPECT_FALSE(s.p90_kl.has_value());
  EXPECT_FALSE(s.p99_kl.has_value());
  ASSERT_EQ(s.worst.size(), 2U);
  EXPECT_EQ(s.worst[0].token.distance.kl, 0.3);
  EXPECT_EQ(s.worst[1].token.document, 2);
}

TEST(Distribution, IdenticalModelsAreExactlyZero) {
  DistributionCollector collector;
  for (int32_t d = 0; d < 3; ++d)
    for (int32_t p = 0; p < 5; ++p) collector.add(token(d, p, 0));
  const DistributionSummary s = collector.summary(0, 5);
  EXPECT_EQ(s.mean_kl.value, 0);
  EXPECT_EQ(s.mean_kl.interval95.high, 0);
  EXPECT_EQ(s.max_kl, 0);
  EXPECT_EQ(s.top1.value, 1);
  EXPECT_EQ(s.perplexity_ratio.value, 1);
  EXPECT_EQ(s.same_top1_documents, 3);
  EXPECT_TRUE(s.worst.empty());
  EXPECT_EQ(s.histogram.front().count, 15);
}

TEST(Distribution, HistogramCountsEveryToken) {
  DistributionCollector collector;
  const double values[] = {0, 1e-9, 1e-8, 0.05, 3, 5000, HUGE_VAL};
  int32_t position = 0;
  for (const double value : values) collector.add(token(0, position++, value));
  const DistributionSummary s = collector.summary(0, 1);
  int64_t total = 0;
  for (const KlBin& bin : s.histogram) {
    EXPECT_LT(bin.low, bin.high);
    total += bin.count;
  }
  EXPECT_EQ(total, 7);
  EXPECT_EQ(s.histogram.front().count, 2);  // below 1e-8
  EXPECT_EQ(s.histogram.back().count, 2);
  for (size_t i = 1; i < s.histogram.size(); ++i)
    EXPECT_EQ(s.histogram[i].low, s.histogram[i - 1].high);
}

TEST(Distribution, PositionsInPowersOfTwo) {
  DistributionCollector collector;
  for (int32_t p = 0; p < 6; ++p) collector.add(token(0, p, p == 5 ? 1.0 : 0.5, p != 5));
  const DistributionSummary s = collector.summary(0, 1);
  ASSERT_EQ(s.by_position.size(), 4U);
  EXPECT_EQ(s.by_position[0].begin, 0);
  EXPECT_EQ(s.by_position[0].end, 1);
  EXPECT_EQ(s.by_position[2].begin, 2);
  EXPECT_EQ(s.by_position[2].end, 4);
  EXPECT_EQ(s.by_position[2].tokens, 2);
  EXPECT_EQ(s.by_position[3].tokens, 2);
  EXPECT_NEAR(s.by_position[3].mean_kl, 0.75, 1e-15);
  EXPECT_NEAR(s.by_position[3].top1, 0.5, 1e-15);
}

TEST(Distribution, QuantilesAppearWithEnoughTokens) {
  DistributionCollector collector;
  Rng rng(3);
  for (int32_t d = 0; d < 100; ++d)
    for (int32_t p = 0; p < 100; ++p) collector.add(token(d, p, -std::log(1 - rng.uniform())));
  const DistributionSummary s = collector.summary(1, 3);
  ASSERT_TRUE(s.p90_kl && s.p99_kl);
  EXPECT_NEAR(*s.p90_kl, std::log(10.0), 0.15);
  EXPECT_NEAR(s.p99_kl->value, std::log(100.0), 0.5);
  EXPECT_LT(s.p99_kl->interval95.low, s.p99_kl->value);
  EXPECT_GT(s.p99_kl->interval95.high, s.p99_kl->value);
  EXPECT_FALSE(s.p999_kl.has_value());
  EXPECT_LT(s.mean_kl.interval95.low, 1);
  EXPECT_GT(s.mean_kl.interval95.high, 1);
}

TEST(Distribution, NothingScoredIsAnError) {
  const DistributionCollector collector;
  EXPECT_THROW((void)collector.summary(0, 1), DataError);
}

}  // namespace
}  // namespace hone
