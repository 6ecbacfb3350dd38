#include "eval/stat/bootstrap.h"

#include <vector>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/rng.h"
#include "core/base/threads.h"
#include "tests/eval/stat/golden.h"

namespace hone {
namespace {

std::vector<RatioTerm> golden_terms(const Json& golden) {
  std::vector<RatioTerm> terms;
  for (size_t i = 0; i < golden.at("sums").size(); ++i)
    terms.push_back({golden.at("sums")[i], golden.at("weights")[i]});
  return terms;
}

TEST(Bootstrap, AgreesWithNumpyUpToDraws) {
  const Json golden = stat_golden().at("bootstrap");
  const auto terms = golden_terms(golden);
  EXPECT_NEAR(ratio_of_sums(terms), golden.at("mean").get<double>(), 1e-9);
  const Interval interval = bootstrap_ratio(terms, {.seed = 1, .replicates = 8000});
  const double low = golden.at("interval")[0];
  const double high = golden.at("interval")[1];
  // Both ends are random; 5 % of the width is more than five standard errors of an end.
  EXPECT_NEAR(interval.low, low, 0.05 * (high - low));
  EXPECT_NEAR(interval.high, high, 0.05 * (high - low));
}

TEST(Bootstrap, DoesNotDependOnThreads) {
  const auto terms = golden_terms(stat_golden().at("bootstrap"));
  ThreadPool::set_threads(1);
  const Interval one = bootstrap_ratio(terms, {.seed = 3});
  ThreadPool::set_threads(3);
  const Interval three = bootstrap_ratio(terms, {.seed = 3});
  EXPECT_EQ(one.low, three.low);
  EXPECT_EQ(one.high, three.high);
  const Interval other = bootstrap_ratio(terms, {.seed = 4});
  EXPECT_NE(one.low, other.low);
}

TEST(Bootstrap, ClustersWidenTheInterval) {
  // Ten documents whose tokens are all alike: resampling tokens would claim ten times the data.
  std::vector<RatioTerm> documents;
  std::vector<RatioTerm> tokens;
  Rng rng(5);
  for (int d = 0; d < 10; ++d) {
    const double value = rng.uniform();
    documents.push_back({value * 100, 100});
    for (int t = 0; t < 100; ++t) tokens.push_back({value, 1});
  }
  const Interval by_document = bootstrap_ratio(documents, {.seed = 1});
  const Interval by_token = bootstrap_ratio(tokens, {.seed = 1});
  EXPECT_GT(by_document.high - by_document.low, 5 * (by_token.high - by_token.low));
}

TEST(Bootstrap, QuantileOfExponentials) {
  // p90 of Exp(1) is ln 10; 40 documents of 100 independent tokens.
  std::vector<double> values;
  std::vector<int32_t> document;
  Rng rng(11);
  for (int32_t d = 0; d < 40; ++d) {
    for (int t = 0; t < 100; ++t) {
      values.push_back(-std::log(1 - rng.uniform()));
      document.push_back(d);
    }
  }
  const Interval interval = bootstrap_quantile({values, document, 40}, 0.9, {.seed = 2});
  EXPECT_LT(interval.low, std::log(10.0));
  EXPECT_GT(interval.high, std::log(10.0));
  // Asymptotic standard error sqrt(q / (n (1 - q))) = 0.0474.
  EXPECT_NEAR(interval.high - interval.low, 2 * 1.96 * 0.0474, 0.06);
}

TEST(Bootstrap, EqualValuesHaveNoWidth) {
  const std::vector<RatioTerm> terms(5, RatioTerm{0, 7});
  const Interval interval = bootstrap_ratio(terms, {});
  EXPECT_EQ(interval.low, 0);
  EXPECT_EQ(interval.high, 0);
}

TEST(Bootstrap, RefusesImpossibleInput) {
  const std::vector<RatioTerm> one = {{1, 1}};
  const std::vector<RatioTerm> two = {{1, 1}, {2, 1}};
  EXPECT_THROW((void)bootstrap_ratio(one, {}), UsageError);
  EXPECT_THROW((void)bootstrap_ratio(two, {.seed = 0, .replicates = 3}), UsageError);
  EXPECT_EQ(ratio_of_sums({}), 0);
}

}  // namespace
}  // namespace hone
