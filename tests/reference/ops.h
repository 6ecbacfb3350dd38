// Naive float64 versions of the operations of runtime/op, written from their formulas: the
// independent side of the tests. Plain loops, no blocking, no vectors.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace hone::reference {

using Doubles = std::vector<double>;

inline Doubles to_double(std::span<const float> x) {
  return {x.begin(), x.end()};
}

// y [rows, n] = x [rows, k] * w [n, k]^T. With `norms`, also sum_k |x * w| of each element.
inline Doubles matmul(
    const Doubles& x, const Doubles& w, int64_t n, int64_t k, Doubles* norms = nullptr
) {
  const int64_t rows = static_cast<int64_t>(x.size()) / k;
  Doubles y(static_cast<size_t>(rows * n));
  if (norms != nullptr) norms->assign(y.size(), 0.0);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t o = 0; o < n; ++o) {
      double sum = 0;
      double norm = 0;
      for (int64_t i = 0; i < k; ++i) {
        const double product = x[r * k + i] * w[o * k + i];
        sum += product;
        norm += std::fabs(product);
      }
      y[r * n + o] = sum;
      if (norms != nullptr) (*norms)[r * n + o] = norm;
    }
  }
  return y;
}

inline Doubles rms_norm(const Doubles& x, const Doubles& weight, double eps) {
  const size_t dim = weight.size();
  Doubles y(x.size());
  for (size_t r = 0; r < x.size() / dim; ++r) {
    double squares = 0;
    for (size_t i = 0; i < dim; ++i) squares += x[r * dim + i] * x[r * dim + i];
    const double s = 1.0 / std::sqrt(squares / static_cast<double>(dim) + eps);
    for (size_t i = 0; i < dim; ++i) y[r * dim + i] = x[r * dim + i] * s * weight[i];
  }
  return y;
}

// x: [rows, heads, head_dim], rotated by position * inv_freq.
inline Doubles rope(
    const Doubles& x,
    const std::vector<int64_t>& positions,
    const Doubles& inv_freq,
    int64_t heads,
    int64_t head_dim
) {
  Doubles y = x;
  const auto half = static_cast<int64_t>(inv_freq.size());
  for (size_t r = 0; r < positions.size(); ++r) {
    for (int64_t h = 0; h < heads; ++h) {
      const int64_t base = (static_cast<int64_t>(r) * heads + h) * head_dim;
      for (int64_t i = 0; i < half; ++i) {
        const double angle = static_cast<double>(positions[r]) * inv_freq[i];
        const double a = x[base + i];
        const double b = x[base + i + half];
        y[base + i] = a * std::cos(angle) - b * std::sin(angle);
        y[base + i + half] = b * std::cos(angle) + a * std::sin(angle);
      }
    }
  }
  return y;
}

inline double silu(double g) {
  return g / (1.0 + std::exp(-g));
}

inline Doubles log_softmax(const Doubles& x, size_t dim) {
  Doubles y(x.size());
  for (size_t r = 0; r < x.size() / dim; ++r) {
    const double* row = &x[r * dim];
    const double top = *std::max_element(row, row + dim);
    double sum = 0;
    for (size_t i = 0; i < dim; ++i) sum += std::exp(row[i] - top);
    for (size_t i = 0; i < dim; ++i) y[r * dim + i] = row[i] - top - std::log(sum);
  }
  return y;
}

inline Doubles softmax(const Doubles& x, size_t dim) {
  Doubles y = log_softmax(x, dim);
  for (double& value : y) value = std::exp(value);
  return y;
}

// One (row, head): q [head_dim], keys and values [n, head_dim] in logical order.
struct AttentionHead {
  Doubles out;         // [head_dim]
  Doubles value_norm;  // sum_j p_j |v_j|
  double score_norm = 0;
};
inline AttentionHead attention(
    const Doubles& q, const Doubles& keys, const Doubles& values, double scale
) {
  const size_t dim = q.size();
  const size_t n = keys.size() / dim;
  AttentionHead result{Doubles(dim, 0.0), Doubles(dim, 0.0), 0.0};
  Doubles scores(n);
  for (size_t j = 0; j < n; ++j) {
    double norm = 0;
    for (size_t d = 0; d < dim; ++d) {
      scores[j] += scale * q[d] * keys[j * dim + d];
      norm += std::fabs(scale * q[d] * keys[j * dim + d]);
    }
    result.score_norm = std::max(result.score_norm, norm);
  }
  const Doubles p = softmax(scores, n);
  for (size_t j = 0; j < n; ++j) {
    for (size_t d = 0; d < dim; ++d) {
      result.out[d] += p[j] * values[j * dim + d];
      result.value_norm[d] += p[j] * std::fabs(values[j * dim + d]);
    }
  }
  return result;
}

// The canonical float32 order of runtime/op/matmul.h, spelled out with std::fma: what every kernel
// must give bit for bit.
inline float canonical_dot(const float* x, const float* w, int64_t k) {
  float y = 0;
  for (int64_t begin = 0; begin < k; begin += 1024) {
    const int64_t end = std::min<int64_t>(begin + 1024, k);
    float lanes[16] = {};
    const int64_t padded = (end - begin + 15) / 16 * 16;
    for (int64_t i = 0; i < padded; ++i) {
      const bool inside = begin + i < end;
      lanes[i % 16] =
          std::fma(inside ? x[begin + i] : 0.0F, inside ? w[begin + i] : 0.0F, lanes[i % 16]);
    }
    for (int step = 8; step > 0; step /= 2) {
      for (int lane = 0; lane < step; ++lane) lanes[lane] = lanes[lane] + lanes[lane + step];
    }
    y = begin == 0 ? lanes[0] : y + lanes[0];
  }
  return y;
}

}  // namespace hone::reference
