#include "core/format/row_slab.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "core/device/cpu_isa.h"
#include "core/device/host_device.h"
#include "core/format/load.h"
#include "core/format/non_finite.h"
#include "core/format/row_kernels.h"

namespace hone {
namespace {

// Rows are handed out in pieces of about this many elements.
constexpr int64_t kPiece = 1 << 16;

}  // namespace

RowSlab RowSlab::of(const TensorView& matrix) {
  require(
      matrix.type == DType::kF32 || matrix.type == DType::kBF16 || matrix.type == DType::kF16,
      "a matrix of {} cannot be quantized; expected F32, BF16 or F16",
      dtype_name(matrix.type)
  );
  require(
      matrix.shape.rank() == 2,
      "a tensor of shape {} is no matrix; expected two dimensions",
      matrix.shape.str()
  );
  return {matrix.type, matrix.data, matrix.shape.dim(0), matrix.shape.dim(1), 0};
}

RowSlab RowSlab::slice(int64_t begin, int64_t count) const {
  require(
      begin >= 0 && count >= 0 && begin <= rows && count <= rows - begin,
      "rows [{}, {}) of a slab of {} rows",
      begin,
      begin + count,
      rows
  );
  return {type, row(begin), count, cols, row0 + begin};
}

std::optional<NonFinite> find_non_finite(const RowSlab& slab, int64_t row, int64_t col, int64_t n) {
  std::vector<float> values(static_cast<size_t>(n));
  const std::byte* source = slab.row(row) + col * dtype_bits(slab.type) / 8;
  load_floats(slab.type, source, n, values.data());
  for (int64_t i = 0; i < n; ++i) {
    if (!std::isfinite(values[i])) return NonFinite{slab.row0 + row, col + i, values[i]};
  }
  return std::nullopt;
}

void FirstNonFinite::offer(const std::optional<NonFinite>& found) {
  if (!found) return;
  const std::lock_guard lock(mutex_);
  if (!first_ || std::pair(found->row, found->col) < std::pair(first_->row, first_->col)) {
    first_ = found;
  }
}

void throw_non_finite(std::string_view name, const NonFinite& bad) {
  throw DataError(fmt::format(
      "tensor {} holds {} at [{}, {}]: weights must be finite; the checkpoint is damaged, or its "
      "training diverged",
      name,
      bad.value,
      bad.row,
      bad.col
  ));
}

int64_t row_grain(int64_t cols) {
  return std::max<int64_t>(1, kPiece / std::max<int64_t>(1, cols));
}

AmaxResult slab_amax(const RowSlab& slab, ThreadPool& pool) {
  const LoadKernels& kernels = by_isa(avx2::kLoadKernels, avx512::kLoadKernels);
  std::atomic<uint32_t> best{0};
  FirstNonFinite bad;
  pool.parallel_for(slab.rows, row_grain(slab.cols), [&](int64_t begin, int64_t end) {
    uint32_t local = 0;
    for (int64_t r = begin; r < end; ++r) {
      const uint32_t row = kernels.amax_bits(slab.type, slab.row(r), slab.cols);
      local = std::max(local, row);
      if (row >= kInfinityBits) {
        bad.offer(find_non_finite(slab, r, 0, slab.cols));
        break;
      }
    }
    uint32_t seen = best.load(std::memory_order_relaxed);
    while (local > seen && !best.compare_exchange_weak(seen, local, std::memory_order_relaxed)) {
    }
  });
  return {bits_as<float>(best.load()), bad.first()};
}

}  // namespace hone
