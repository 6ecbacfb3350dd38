#include "runtime/sample/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/rng.h"

namespace hone {
namespace {

using ::testing::HasSubstr;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Logits whose softmax at temperature 1 is `p`.
std::vector<float> logits_of(const std::vector<double>& p) {
  std::vector<float> logits;
  for (const double x : p) logits.push_back(static_cast<float>(std::log(x)));
  return logits;
}

std::vector<int32_t> ids_of(const std::vector<Candidate>& candidates) {
  std::vector<int32_t> ids;
  for (const Candidate& c : candidates) ids.push_back(c.id);
  return ids;
}

std::vector<float> random_logits(size_t n, uint64_t seed) {
  Rng rng(seed);
  std::vector<float> logits(n);
  for (float& x : logits) x = static_cast<float>(3.0 * rng.normal());
  return logits;
}

// The filters by their definition on a fully sorted list, in long double.
std::vector<Candidate> naive(const std::vector<float>& logits, const SamplingParams& params) {
  std::vector<int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::stable_sort(ids.begin(), ids.end(), [&](int32_t a, int32_t b) {
    return logits[static_cast<size_t>(a)] > logits[static_cast<size_t>(b)];
  });
  const long double top = logits[static_cast<size_t>(ids[0])];
  std::vector<long double> w;
  for (const int32_t id : ids)
    w.push_back(std::exp((logits[static_cast<size_t>(id)] - top) / params.temperature));
  const auto keep = [&](size_t n) {
    ids.resize(n);
    w.resize(n);
  };
  const auto total = [&] { return std::accumulate(w.begin(), w.end(), 0.0L); };
  if (params.top_k > 0) keep(std::min(ids.size(), static_cast<size_t>(params.top_k)));
  const long double sum = total();
  long double before = 0;
  size_t n = 0;
  while (n < w.size() && (n == 0 || before / sum < params.top_p)) before += w[n++];
  if (params.top_p < 1.0F) keep(n);
  n = 0;
  while (n < w.size() && w[n] >= params.min_p * w[0]) ++n;
  keep(n);
  const long double rest = total();
  std::vector<Candidate> result;
  for (size_t i = 0; i < ids.size(); ++i)
    result.push_back({.id = ids[i], .probability = static_cast<double>(w[i] / rest)});
  return result;
}

TEST(Argmax, LowestIdWinsTies) {
  EXPECT_EQ(argmax(std::vector<float>{1, 3, 3, 2}), 1);
  EXPECT_EQ(argmax(std::vector<float>{-kInf, -5, -kInf}), 1);
  EXPECT_EQ(argmax(std::vector<float>{0.0F, -0.0F}), 0);
}

TEST(Argmax, BrokenLogitsAreNamed) {
  const auto message = [](const std::vector<float>& logits) -> std::string {
    try {
      (void)argmax(logits);
    } catch (const DataError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(message({0, 1, kNan}), HasSubstr("token 2 is nan"));
  EXPECT_THAT(message({kNan, 1}), HasSubstr("token 0 is nan"));
  EXPECT_THAT(message({0, kInf}), HasSubstr("token 1 is inf"));
  EXPECT_THAT(message({-kInf, -kInf}), HasSubstr("-inf"));
  EXPECT_THROW((void)sample(std::vector<float>{0, kNan}, {.temperature = 1}, 0, 0), DataError);
  EXPECT_THROW((void)argmax(std::vector<float>{}), UsageError);
}

TEST(Distribution, GreedyIsOneToken) {
  const std::vector<Candidate> d = distribution(std::vector<float>{1, 3, 2}, {});
  EXPECT_THAT(ids_of(d), ::testing::ElementsAre(1));
  EXPECT_EQ(d[0].probability, 1.0);
}

TEST(Distribution, FiltersByHand) {
  const std::vector<float> logits = logits_of({0.1, 0.4, 0.2, 0.3});
  EXPECT_THAT(ids_of(distribution(logits, {.temperature = 1})), ::testing::ElementsAre(1, 3, 2, 0));
  EXPECT_THAT(
      ids_of(distribution(logits, {.temperature = 1, .top_k = 2})), ::testing::ElementsAre(1, 3)
  );
  // 0.4 lies before id 3, 0.7 before id 2: at 0.65 two are kept, at 0.75 three.
  EXPECT_THAT(
      ids_of(distribution(logits, {.temperature = 1, .top_p = 0.65F})), ::testing::ElementsAre(1, 3)
  );
  EXPECT_THAT(
      ids_of(distribution(logits, {.temperature = 1, .top_p = 0.75F})),
      ::testing::ElementsAre(1, 3, 2)
  );
  // top-p works on what top-k left: 0.4 of 0.7 is 0.571.
  EXPECT_THAT(
      ids_of(distribution(logits, {.temperature = 1, .top_k = 2, .top_p = 0.55F})),
      ::testing::ElementsAre(1)
  );
  // min-p is relative to the largest: 0.2 / 0.4 = 0.5.
  EXPECT_THAT(
      ids_of(distribution(logits, {.temperature = 1, .min_p = 0.49F})),
      ::testing::ElementsAre(1, 3, 2)
  );
  EXPECT_THAT(
      ids_of(distribution(logits, {.temperature = 1, .min_p = 0.51F})), ::testing::ElementsAre(1, 3)
  );
  const auto d = distribution(logits, {.temperature = 1, .top_k = 2});
  EXPECT_NEAR(d[0].probability, 4.0 / 7.0, 1e-6);
  // Temperature 0.5 squares the probabilities: 0.16 / (0.01 + 0.16 + 0.04 + 0.09).
  EXPECT_NEAR(distribution(logits, {.temperature = 0.5F})[0].probability, 0.16 / 0.30, 1e-6);
  // A tiny top_p still leaves one token; masked tokens never appear.
  EXPECT_EQ(distribution(logits, {.temperature = 1, .top_p = 1e-6F}).size(), 1U);
  EXPECT_THAT(
      ids_of(distribution(std::vector<float>{0, -kInf, 1}, {.temperature = 1})),
      ::testing::ElementsAre(2, 0)
  );
  // Equal logits: ascending ids, and a temperature whose inverse is infinite.
  EXPECT_THAT(
      ids_of(distribution(std::vector<float>{2, 2, 1}, {.temperature = 1e-42F})),
      ::testing::ElementsAre(0, 1)
  );
}

TEST(Distribution, AgreesWithTheDefinitionOnRandomLogits) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Rng rng(seed, 1);
    const std::vector<float> logits = random_logits(1 + rng.below(700), seed);
    SamplingParams params;
    params.temperature = static_cast<float>(0.2 + 2.0 * rng.uniform());
    if (rng.below(2) == 0) params.top_k = static_cast<int32_t>(rng.below(300));
    if (rng.below(2) == 0) params.top_p = static_cast<float>(0.05 + 0.95 * rng.uniform());
    if (rng.below(2) == 0) params.min_p = static_cast<float>(0.3 * rng.uniform());
    const auto got = distribution(logits, params);
    const auto want = naive(logits, params);
    ASSERT_EQ(ids_of(got), ids_of(want)) << "seed " << seed;
    double sum = 0;
    for (size_t i = 0; i < got.size(); ++i) {
      // Rounding of exp and of two sums of n terms in another order.
      ASSERT_NEAR(
          got[i].probability, want[i].probability, 1e-15 * static_cast<double>(logits.size())
      );
      sum += got[i].probability;
    }
    EXPECT_NEAR(sum, 1.0, 1e-12);
  }
}

TEST(Sample, IsTheInverseOfTheDistribution) {
  const std::vector<float> logits = random_logits(500, 3);
  const SamplingParams params{.temperature = 1.3F, .top_p = 0.97F, .seed = 99};
  const auto d = distribution(logits, params);
  for (uint64_t position = 0; position < 300; ++position) {
    const double u = uniform(params.seed, 5, position);
    double sum = 0;
    size_t rank = 0;
    while (rank + 1 < d.size() && sum + d[rank].probability <= u) sum += d[rank++].probability;
    EXPECT_EQ(sample(logits, params, 5, position), d[rank].id) << position;
  }
}

TEST(Sample, DependsOnSeedChoiceAndPosition) {
  const std::vector<float> logits(1000, 0.0F);
  const SamplingParams params{.temperature = 1, .seed = 1};
  const int32_t base = sample(logits, params, 0, 10);
  EXPECT_EQ(sample(logits, params, 0, 10), base);
  EXPECT_NE(sample(logits, params, 1, 10), base);
  EXPECT_NE(sample(logits, params, 0, 11), base);
  EXPECT_NE(sample(logits, {.temperature = 1, .seed = 2}, 0, 10), base);
}

// Pearson's chi-square over positions, against the exact probabilities; 5-sigma bound of a
// chi-square with k - 1 degrees of freedom (mean k - 1, variance 2 (k - 1)).
TEST(Sample, ChiSquareAgainstSoftmax) {
  const std::vector<double> p = {0.02, 0.3, 0.08, 0.25, 0.05, 0.2, 0.1};
  const std::vector<float> logits = logits_of(p);
  constexpr int kDraws = 200000;
  std::vector<int> counts(p.size());
  for (int i = 0; i < kDraws; ++i)
    ++counts[static_cast<size_t>(
        sample(logits, {.temperature = 1, .seed = 4}, 0, static_cast<uint64_t>(i))
    )];
  double chi = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    const double expected = p[i] * kDraws;
    chi += (counts[i] - expected) * (counts[i] - expected) / expected;
  }
  const double freedom = static_cast<double>(p.size() - 1);
  EXPECT_LT(chi, freedom + 5.0 * std::sqrt(2.0 * freedom));
}

TEST(LogProbs, OfTheModelItself) {
  const std::vector<float> logits = logits_of({0.1, 0.4, 0.2, 0.3});
  const LogProbs result = log_probs(logits, 2, 2);
  EXPECT_NEAR(result.chosen, std::log(0.2), 1e-6);
  ASSERT_EQ(result.top.size(), 2U);
  EXPECT_EQ(result.top[0].first, 1);
  EXPECT_NEAR(result.top[1].second, std::log(0.3), 1e-6);
  EXPECT_EQ(log_probs(logits, 0, 9).top.size(), 4U);
  EXPECT_TRUE(log_probs(logits, 0, 0).top.empty());
  EXPECT_THROW((void)log_probs(logits, 4, 0), UsageError);
}

TEST(SamplingParams, OutOfRangeFieldsAreNamed) {
  const auto message = [](const SamplingParams& params) -> std::string {
    try {
      validate(params);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(message({.temperature = -1}), HasSubstr("temperature is -1"));
  EXPECT_THAT(message({.temperature = kNan}), HasSubstr("temperature"));
  EXPECT_THAT(message({.top_k = -2}), HasSubstr("top_k is -2"));
  EXPECT_THAT(message({.top_p = 0}), HasSubstr("top_p is 0"));
  EXPECT_THAT(message({.top_p = 1.5F}), HasSubstr("top_p is 1.5"));
  EXPECT_THAT(message({.min_p = -0.1F}), HasSubstr("min_p"));
  EXPECT_EQ(message({.temperature = 2, .top_k = -1}), "");
}

}  // namespace
}  // namespace hone
