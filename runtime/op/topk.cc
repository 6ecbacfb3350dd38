#include "runtime/op/topk.h"

#include <algorithm>
#include <limits>

#include "core/base/error.h"
#include "core/base/threads.h"
#include "core/device/simd.h"

namespace hone {
namespace {

struct Entry {
  float value;
  int32_t id;
};

// The order of the result: larger values first, then smaller ids.
bool before(const Entry& a, const Entry& b) {
  return a.value > b.value || (a.value == b.value && a.id < b.id);
}

// The k first entries of a row; `heap` has its last entry in front.
class RowSelection {
 public:
  RowSelection(int64_t k, int64_t row) : k_(static_cast<size_t>(k)), row_(row) {
    heap_.reserve(k_);
  }

  // A later entry must exceed this to enter (ids ascend, so equal values do not).
  [[nodiscard]] float threshold() const { return threshold_; }

  void offer(float value, int64_t id) {
    require_data(value == value, "top_k: value {} of row {} is NaN", id, row_);
    if (heap_.size() == k_) {
      if (!(value > threshold_)) return;
      std::pop_heap(heap_.begin(), heap_.end(), before);
      heap_.pop_back();
    }
    heap_.push_back({value, static_cast<int32_t>(id)});
    std::push_heap(heap_.begin(), heap_.end(), before);
    if (heap_.size() == k_) threshold_ = heap_.front().value;
  }

  const std::vector<Entry>& sorted() {
    std::sort(heap_.begin(), heap_.end(), before);
    return heap_;
  }

 private:
  size_t k_;
  int64_t row_;
  float threshold_ = -std::numeric_limits<float>::infinity();
  std::vector<Entry> heap_;
};

void select_row(const float* x, int64_t dim, RowSelection& selection, int64_t k) {
  int64_t i = 0;
  for (; i < std::min(k, dim); ++i) selection.offer(x[i], i);
  // Most vectors hold nothing above the threshold, and no NaN.
  for (; i + avx2::kLanes <= dim; i += avx2::kLanes) {
    const avx2::f32x16 v = avx2::load(x + i);
    const avx2::f32x16 limit = avx2::set1(selection.threshold());
    uint32_t hits = avx2::bits(avx2::less(limit, v) | avx2::is_nan(v));
    for (; hits != 0; hits &= hits - 1) {
      const int lane = __builtin_ctz(hits);
      selection.offer(x[i + lane], i + lane);
    }
  }
  for (; i < dim; ++i) selection.offer(x[i], i);
}

}  // namespace

TopK top_k(std::span<const float> x, int64_t dim, int64_t k) {
  require(
      dim > 0 && x.size() % static_cast<size_t>(dim) == 0 && k >= 1 && k <= dim,
      "top_k: {} values in rows of {}, k = {}; expected whole rows and 1 <= k <= row length",
      x.size(),
      dim,
      k
  );
  const int64_t rows = static_cast<int64_t>(x.size()) / dim;
  TopK result;
  result.k = k;
  result.ids.resize(static_cast<size_t>(rows * k));
  result.values.resize(result.ids.size());
  ThreadPool::global().parallel_for(rows, (1 << 15) / dim + 1, [&](int64_t r0, int64_t r1) {
    for (int64_t row = r0; row < r1; ++row) {
      RowSelection selection(k, row);
      select_row(x.data() + row * dim, dim, selection, k);
      const std::vector<Entry>& entries = selection.sorted();
      for (int64_t i = 0; i < k; ++i) {
        result.ids[row * k + i] = entries[i].id;
        result.values[row * k + i] = entries[i].value;
      }
    }
  });
  return result;
}

}  // namespace hone
