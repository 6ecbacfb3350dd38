#include "runtime/op/distribution.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/error.h"
#include "core/base/threads.h"

namespace hone {
namespace {

struct RowPeak {
  double log_sum = 0;  // log sum_i exp(x_i)
  int32_t top = 0;
};

RowPeak row_peak(const float* x, int64_t dim, int64_t row, const char* what) {
  RowPeak peak;
  float top = -std::numeric_limits<float>::infinity();
  for (int64_t i = 0; i < dim; ++i) {
    require_data(
        x[i] < std::numeric_limits<float>::infinity(),
        "{}: logit {} of row {} is {}, expected a finite number or -inf",
        what,
        i,
        row,
        x[i]
    );
    if (x[i] > top) {
      top = x[i];
      peak.top = static_cast<int32_t>(i);
    }
  }
  require_data(
      top > -std::numeric_limits<float>::infinity(), "{}: every logit of row {} is -inf", what, row
  );
  double sum = 0;
  for (int64_t i = 0; i < dim; ++i) sum += std::exp(static_cast<double>(x[i]) - top);
  peak.log_sum = static_cast<double>(top) + std::log(sum);
  return peak;
}

RowDistance row_distance(const float* p, const float* q, int64_t dim, int64_t row) {
  const RowPeak peak_p = row_peak(p, dim, row, "row_distances (reference)");
  const RowPeak peak_q = row_peak(q, dim, row, "row_distances (candidate)");
  RowDistance d;
  d.top1_p = peak_p.top;
  d.top1_q = peak_q.top;
  d.top1_agrees = peak_p.top == peak_q.top;
  double total_variation = 0;
  for (int64_t i = 0; i < dim; ++i) {
    const double log_p = static_cast<double>(p[i]) - peak_p.log_sum;
    const double log_q = static_cast<double>(q[i]) - peak_q.log_sum;
    const double prob_p = std::exp(log_p);
    total_variation += std::fabs(prob_p - std::exp(log_q));
    if (prob_p > 0) {  // the limit of p log p is 0
      d.kl += prob_p * (log_p - log_q);
      d.entropy -= prob_p * log_p;
    }
  }
  d.kl = std::max(d.kl, 0.0);
  d.tv = std::min(0.5 * total_variation, 1.0);
  return d;
}

int64_t count_rows(const char* what, size_t size, int64_t dim) {
  require(
      dim > 0 && size % static_cast<size_t>(dim) == 0,
      "{}: {} logits are not a multiple of the row length {}",
      what,
      size,
      dim
  );
  return static_cast<int64_t>(size) / dim;
}

}  // namespace

std::vector<RowDistance> row_distances(
    std::span<const float> p, std::span<const float> q, int64_t dim
) {
  require(p.size() == q.size(), "row_distances: p has {} logits, q {}", p.size(), q.size());
  const int64_t rows = count_rows("row_distances", p.size(), dim);
  std::vector<RowDistance> result(static_cast<size_t>(rows));
  ThreadPool::global().parallel_for(rows, 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      result[row] = row_distance(p.data() + row * dim, q.data() + row * dim, dim, row);
    }
  });
  return result;
}

std::vector<double> token_log_probs(
    std::span<const float> logits, int64_t dim, std::span<const int32_t> ids
) {
  const int64_t rows = count_rows("token_log_probs", logits.size(), dim);
  require(
      ids.size() == static_cast<size_t>(rows),
      "token_log_probs: {} ids for {} rows of logits",
      ids.size(),
      rows
  );
  std::vector<double> result(ids.size());
  ThreadPool::global().parallel_for(rows, 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      require(
          ids[row] >= 0 && ids[row] < dim,
          "token_log_probs: id {} of row {} lies outside [0, {})",
          ids[row],
          row,
          dim
      );
      const float* x = logits.data() + row * dim;
      result[row] =
          static_cast<double>(x[ids[row]]) - row_peak(x, dim, row, "token_log_probs").log_sum;
    }
  });
  return result;
}

}  // namespace hone
