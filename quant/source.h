// The weights of a checkpoint as quantization sees them: dense tensors, and modules that are
// stored quantized already.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/format/quantized_tensor.h"
#include "core/format/row_slab.h"
#include "core/io/checkpoint.h"
#include "core/io/dialect.h"
#include "core/tensor/tensor.h"

namespace hone {

// One tensor, or one module that is stored quantized (its scales belong to it and are not listed
// on their own).
struct SourceTensor {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;  // of the weight itself: [rows, cols] where codes are packed
  std::optional<Format> stored;
  int64_t bytes = 0;  // scales included
  // Of a stored module: its activations, and its name (the codes need not be "<module>.weight").
  ActivationRule stored_activation = ActivationRule::kNone;
  std::string stored_module{};
};

// In checkpoint order. `dialect` is detect_dialect(checkpoint). Throws DataError as
// Dialect::modules and Dialect::read do.
std::vector<SourceTensor> list_source(const Checkpoint& checkpoint, const Dialect* dialect);

// The tensors of a module that is stored quantized, codes first, as they are named on disk.
std::vector<std::string> stored_parts(
    const Checkpoint& checkpoint, const Dialect& dialect, const std::string& module
);

// Slabs of rows of one weight matrix, for one reading thread.
class WeightRows {
 public:
  // A dense tensor, F32|BF16|F16. Ranks other than 2 are read as [numel / last, last].
  WeightRows(const Checkpoint& checkpoint, std::string tensor);
  // A module that is stored quantized: its rows are decoded to F32.
  WeightRows(
      const Checkpoint& checkpoint,
      std::string tensor,
      const Dialect& dialect,
      const std::string& module
  );

  [[nodiscard]] int64_t rows() const { return rows_; }
  [[nodiscard]] int64_t cols() const { return cols_; }
  // Rows of a slab of about `bytes` source bytes: a multiple of 128 (block FP8 needs it), >= 128.
  [[nodiscard]] int64_t slab_rows(int64_t bytes) const;
  // Rows [row0, row0 + n); valid until the next call.
  [[nodiscard]] RowSlab slab(int64_t row0, int64_t n, ThreadPool& pool);
  // Asks the kernel to read ahead, and releases pages, so that memory stays bounded by slabs.
  void prefetch(int64_t row0, int64_t n) const;
  void drop(int64_t row0, int64_t n) const;
  // Throws DataError naming file, tensor and element.
  [[noreturn]] void refuse(const NonFinite& bad) const;

 private:
  const Checkpoint& checkpoint_;
  std::string tensor_;
  TensorView dense_;
  std::optional<QuantizedTensor> quantized_;
  std::vector<float> decoded_;
  int64_t rows_ = 0;
  int64_t cols_ = 0;
  int64_t row_bytes_ = 0;  // on disk
};

}  // namespace hone
