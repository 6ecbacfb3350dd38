#include "speculator/train/optimizer.h"

#include <cmath>

#include <gtest/gtest.h>

#include "core/base/rng.h"
#include "core/base/threads.h"

namespace hone {
namespace {

TEST(LearningRate, WarmsUpAndFollowsACosine) {
  const LearningRate rate{.peak = 2.0, .warmup = 0.1, .floor = 0.1, .steps = 101};
  EXPECT_DOUBLE_EQ(rate.at(0), 0.2);
  EXPECT_DOUBLE_EQ(rate.at(4), 1.0);
  EXPECT_DOUBLE_EQ(rate.at(9), 2.0);
  EXPECT_DOUBLE_EQ(rate.at(10), 2.0);
  EXPECT_NEAR(rate.at(55), 2.0 * (0.1 + 0.9 * 0.5), 1e-12);  // half way from step 10 to 100
  EXPECT_NEAR(rate.at(100), 0.2, 1e-12);
}

TEST(LearningRate, OneStepIsTheWarmUp) {
  EXPECT_DOUBLE_EQ((LearningRate{.peak = 1.0, .steps = 1}.at(0)), 1.0);
}

// The formula, in double.
TEST(AdamW, FollowsTheFormula) {
  const AdamWOptions options{
      .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .weight_decay = 0.1, .clip_norm = 1.0};
  AdamW adam(options, {1, 1, 0});
  std::vector<float> w = {1.0F, -2.0F, 3.0F};
  std::vector<double> expected = {1, -2, 3};
  std::vector<double> m(3);
  std::vector<double> v(3);
  for (int t = 1; t <= 5; ++t) {
    const std::vector<float> g = {
        static_cast<float>(0.3 * t), -0.7F, static_cast<float>(t == 3 ? 40 : 0.1)};
    double norm = 0;
    for (const float x : g) norm += static_cast<double>(x) * static_cast<double>(x);
    norm = std::sqrt(norm);
    const double rate = 0.01 * t;
    EXPECT_NEAR(adam.step(w, g, rate, t), norm, 1e-6 * norm);
    for (size_t i = 0; i < 3; ++i) {
      const double x = static_cast<double>(g[i]) * std::min(1.0, 1.0 / norm);
      m[i] = 0.9 * m[i] + 0.1 * x;
      v[i] = 0.95 * v[i] + 0.05 * x * x;
      const double update =
          m[i] / (1 - std::pow(0.9, t)) / (std::sqrt(v[i] / (1 - std::pow(0.95, t))) + 1e-8);
      expected[i] -= rate * (update + (i < 2 ? 0.1 * expected[i] : 0.0));
      EXPECT_NEAR(w[i], expected[i], 2e-6) << "step " << t;
    }
  }
}

TEST(AdamW, DoesNotDependOnThreads) {
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 2, 7}) {
    ThreadPool::set_threads(threads);
    Rng rng(1);
    std::vector<float> w(100003);
    std::vector<float> g(w.size());
    for (float& x : w) x = static_cast<float>(rng.normal());
    for (float& x : g) x = static_cast<float>(rng.normal());
    AdamW adam({}, std::vector<uint8_t>(w.size(), 1));
    for (int t = 1; t < 4; ++t) adam.step(w, g, 1e-3, t);
    results.push_back(w);
  }
  ThreadPool::set_threads(2);
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

}  // namespace
}  // namespace hone
