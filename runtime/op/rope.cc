#include "runtime/op/rope.h"

#include <cmath>

#include "core/base/error.h"
#include "core/base/threads.h"

namespace hone {
namespace {

// Elements that are worth a thread of their own.
constexpr int64_t kGrain = 1 << 15;

struct Rotation {
  const float* cos;
  const float* sin;
  int64_t half;
};

// Two roundings for each product sum, so that vector and scalar code agree.
void rotate(const Rotation& r, float* x) {
  float* y = x + r.half;
  for (int64_t i = 0; i < r.half; ++i) {
    const float a = x[i];
    const float b = y[i];
    x[i] = a * r.cos[i] - b * r.sin[i];
    y[i] = b * r.cos[i] + a * r.sin[i];
  }
}

void rotate_back(const Rotation& r, float* x) {
  float* y = x + r.half;
  for (int64_t i = 0; i < r.half; ++i) {
    const float a = x[i];
    const float b = y[i];
    x[i] = a * r.cos[i] + b * r.sin[i];
    y[i] = b * r.cos[i] - a * r.sin[i];
  }
}

template <void (*kRotate)(const Rotation&, float*)>
void for_each_head(const RopeRows& table, int64_t head_dim, std::span<float> x) {
  require(
      table.half > 0 && head_dim >= 2 * table.half,
      "rope: head_dim is {}, expected at least the rotary size {}",
      head_dim,
      2 * table.half
  );
  const auto size = static_cast<int64_t>(x.size());
  if (table.rows == 0 && size == 0) return;
  require(
      table.rows > 0 && size % (table.rows * head_dim) == 0,
      "rope: x has {} elements, not a multiple of {} rows of head_dim {}",
      size,
      table.rows,
      head_dim
  );
  const int64_t width = size / table.rows;
  const int64_t grain = kGrain / width + 1;
  ThreadPool::global().parallel_for(table.rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const Rotation rotation{
          table.cos.data() + row * table.half, table.sin.data() + row * table.half, table.half};
      for (int64_t head = 0; head < width; head += head_dim) {
        kRotate(rotation, x.data() + row * width + head);
      }
    }
  });
}

}  // namespace

std::vector<double> rope_inv_freq(int64_t rotary_dim, double theta) {
  require(
      rotary_dim > 0 && rotary_dim % 2 == 0 && theta > 0,
      "rope: rotary size {} and theta {}, expected a positive even size and a positive theta",
      rotary_dim,
      theta
  );
  std::vector<double> result(static_cast<size_t>(rotary_dim / 2));
  for (size_t i = 0; i < result.size(); ++i) {
    result[i] = std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(rotary_dim));
  }
  return result;
}

RopeRows rope_rows(
    std::span<const double> inv_freq, std::span<const int64_t> positions, double attention_factor
) {
  RopeRows table;
  table.rows = static_cast<int64_t>(positions.size());
  table.half = static_cast<int64_t>(inv_freq.size());
  table.cos.resize(positions.size() * inv_freq.size());
  table.sin.resize(table.cos.size());
  for (size_t row = 0; row < positions.size(); ++row) {
    for (size_t i = 0; i < inv_freq.size(); ++i) {
      const double angle = static_cast<double>(positions[row]) * inv_freq[i];
      table.cos[row * inv_freq.size() + i] = static_cast<float>(std::cos(angle) * attention_factor);
      table.sin[row * inv_freq.size() + i] = static_cast<float>(std::sin(angle) * attention_factor);
    }
  }
  return table;
}

void rope(const RopeRows& table, int64_t head_dim, std::span<float> x) {
  for_each_head<rotate>(table, head_dim, x);
}

void rope_backward(const RopeRows& table, int64_t head_dim, std::span<float> dy) {
  for_each_head<rotate_back>(table, head_dim, dy);
}

}  // namespace hone
