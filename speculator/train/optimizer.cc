#include "speculator/train/optimizer.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "core/base/error.h"
#include "core/base/threads.h"

namespace hone {

namespace {
constexpr int64_t kBlock = 1 << 14;
}  // namespace

double LearningRate::at(int64_t step) const {
  const auto warm = std::max<int64_t>(1, std::llround(warmup * static_cast<double>(steps)));
  if (step < warm) return peak * static_cast<double>(step + 1) / static_cast<double>(warm);
  const double progress = static_cast<double>(step - warm) /
                          static_cast<double>(std::max<int64_t>(1, steps - 1 - warm));
  const double cosine = 0.5 * (1.0 + std::cos(std::numbers::pi * std::min(1.0, progress)));
  return peak * (floor + (1.0 - floor) * cosine);
}

AdamW::AdamW(AdamWOptions options, std::vector<uint8_t> decayed)
    : options_(options),
      decayed_(std::move(decayed)),
      m_(decayed_.size(), 0.0F),
      v_(decayed_.size(), 0.0F) {}

double AdamW::step(std::vector<float>& w, const std::vector<float>& g, double rate, int64_t t) {
  const auto n = static_cast<int64_t>(w.size());
  check(w.size() == m_.size() && g.size() == m_.size(), "adamw: sizes differ");
  ThreadPool& pool = ThreadPool::global();
  const double norm = std::sqrt(pool.parallel_sum(n, kBlock, [&](int64_t begin, int64_t end) {
    double sum = 0;
    for (int64_t i = begin; i < end; ++i) {
      const auto x = static_cast<double>(g[static_cast<size_t>(i)]);
      sum += x * x;
    }
    return sum;
  }));
  const bool clip = options_.clip_norm > 0 && norm > options_.clip_norm;
  const auto shrink = static_cast<float>(clip ? options_.clip_norm / norm : 1.0);
  const auto b1 = static_cast<float>(options_.beta1);
  const auto b2 = static_cast<float>(options_.beta2);
  const auto count = static_cast<double>(t);
  const auto correct1 = static_cast<float>(1.0 / (1.0 - std::pow(options_.beta1, count)));
  const auto correct2 = static_cast<float>(1.0 / (1.0 - std::pow(options_.beta2, count)));
  const auto eps = static_cast<float>(options_.eps);
  const auto lr = static_cast<float>(rate);
  const auto decay = static_cast<float>(rate * options_.weight_decay);
  float* weights = w.data();
  const float* gradient = g.data();
  pool.parallel_for(n, kBlock, [&](int64_t begin, int64_t end) {
    float* m = m_.data();
    float* v = v_.data();
    for (int64_t i = begin; i < end; ++i) {
      const float x = gradient[i] * shrink;
      m[i] = b1 * m[i] + (1.0F - b1) * x;
      v[i] = b2 * v[i] + (1.0F - b2) * x * x;
      const float update = m[i] * correct1 / (std::sqrt(v[i] * correct2) + eps);
      const float keep = decayed_[static_cast<size_t>(i)] != 0 ? 1.0F - decay : 1.0F;
      weights[i] = weights[i] * keep - lr * update;
    }
  });
  return norm;
}

}  // namespace hone
