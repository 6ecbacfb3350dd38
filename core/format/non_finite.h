// Finding the first NaN or infinity from several threads. Internal to core/format.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

#include "core/format/row_slab.h"

namespace hone {

inline constexpr uint32_t kInfinityBits = 0x7F800000U;

// The first non-finite of n elements of slab row `row`, from column `col` on.
std::optional<NonFinite> find_non_finite(const RowSlab& slab, int64_t row, int64_t col, int64_t n);

// Keeps the first in row-major order of those offered; any thread may offer.
class FirstNonFinite {
 public:
  void offer(const std::optional<NonFinite>& found);
  // After the threads have joined.
  [[nodiscard]] const std::optional<NonFinite>& first() const { return first_; }

 private:
  std::mutex mutex_;
  std::optional<NonFinite> first_;
};

// Rows in a piece of work, for ThreadPool::parallel_for over rows of this length.
int64_t row_grain(int64_t cols);

// Throws DataError naming the tensor and the element.
[[noreturn]] void throw_non_finite(std::string_view name, const NonFinite& bad);

}  // namespace hone
