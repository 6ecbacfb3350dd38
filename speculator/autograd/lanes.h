// Vector reductions with one fixed order, written so that the compiler vectorizes them.
//
// Sums run in 16 interleaved lanes that are folded in halves, so a result depends on the length
// alone: not on the vector width and not on threads.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace hone {

inline constexpr int64_t kLanes = 16;

inline float fold_lanes(std::array<float, kLanes> lanes) {
  for (int64_t half = kLanes / 2; half > 0; half /= 2)
    for (int64_t i = 0; i < half; ++i)
      lanes[static_cast<size_t>(i)] += lanes[static_cast<size_t>(i + half)];
  return lanes[0];
}

// sum over i of term(i), i in [0, n).
template <typename Term>
float lane_sum(int64_t n, const Term& term) {
  std::array<float, kLanes> lanes{};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int64_t j = 0; j < kLanes; ++j) lanes[static_cast<size_t>(j)] += term(i + j);
  for (int64_t j = 0; i + j < n; ++j) lanes[static_cast<size_t>(j)] += term(i + j);
  return fold_lanes(lanes);
}

// Largest of x [n], n > 0.
inline float lane_max(const float* x, int64_t n) {
  std::array<float, kLanes> lanes;
  lanes.fill(x[0]);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int64_t j = 0; j < kLanes; ++j) {
      float& lane = lanes[static_cast<size_t>(j)];
      lane = lane < x[i + j] ? x[i + j] : lane;
    }
  for (; i < n; ++i) lanes[0] = std::max(lanes[0], x[i]);
  return *std::max_element(lanes.begin(), lanes.end());
}

}  // namespace hone
