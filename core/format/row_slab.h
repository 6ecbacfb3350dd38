// Consecutive rows of a weight matrix: what the codecs stream over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/base/threads.h"
#include "core/tensor/tensor.h"

namespace hone {

// Rows [row0, row0 + rows) of a [*, cols] F32|BF16|F16 matrix, contiguous, any alignment. Borrows.
struct RowSlab {
  DType type = DType::kF32;
  const std::byte* data = nullptr;
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t row0 = 0;  // position in the whole tensor: for reports and block alignment

  // All rows of a rank-2 tensor. UsageError for another rank or dtype.
  static RowSlab of(const TensorView& matrix);
  // Rows [begin, begin + count) of this slab. UsageError out of range.
  [[nodiscard]] RowSlab slice(int64_t begin, int64_t count) const;
  [[nodiscard]] int64_t row_bytes() const { return cols * dtype_bits(type) / 8; }
  [[nodiscard]] const std::byte* row(int64_t r) const { return data + r * row_bytes(); }
};

// A NaN or infinity, by its position in the whole tensor. Codecs report the first in row-major
// order of the slab; the caller, who knows the tensor's name, turns it into an error.
struct NonFinite {
  int64_t row = 0;
  int64_t col = 0;
  float value = 0.0F;
};

struct AmaxResult {
  float amax = 0.0F;  // largest |x|; meaningless when `bad` is set
  std::optional<NonFinite> bad;
};

// The amax pass: largest magnitude of a slab. Independent of the number of threads.
AmaxResult slab_amax(const RowSlab& slab, ThreadPool& pool);

}  // namespace hone
