#include "core/io/dialect_scales.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/format/block_fp8.h"
#include "core/format/load.h"
#include "core/io/dialect_parts.h"

namespace hone {
namespace {

// Are all codes of rows [row0, row0 + rows) and columns [col0, col0 + cols), as far as the tensor
// has them, zero?
bool codes_are_zero(
    const QuantizedTensor& tensor, int64_t row0, int64_t rows, int64_t col0, int64_t cols
) {
  const auto* codes = reinterpret_cast<const uint8_t*>(tensor.codes.view().data);
  for (int64_t r = row0; r < std::min(row0 + rows, tensor.rows); ++r) {
    for (int64_t c = col0; c < std::min(col0 + cols, tensor.cols); ++c) {
      if ((codes[r * tensor.cols + c] & 0x7FU) != 0) return false;
    }
  }
  return true;
}

bool is_plain_float(DType type) {
  return type == DType::kF32 || type == DType::kBF16 || type == DType::kF16;
}

}  // namespace

Tensor reshaped(const Tensor& tensor, const Shape& shape) {
  check(
      tensor.numel() == shape.numel(), "{} is no shape for {} elements", shape.str(), tensor.numel()
  );
  return Tensor::borrow(
      {tensor.type(), shape, tensor.view().data}, std::make_shared<const Tensor>(tensor)
  );
}

Tensor read_codes(const Checkpoint& checkpoint, const std::string& name, DType type) {
  Tensor codes = checkpoint.borrow(name);
  require_data(
      codes.type() == type,
      "{}: codes are {}, expected {}",
      in_folder(checkpoint, name),
      dtype_name(codes.type()),
      dtype_name(type)
  );
  require_data(
      codes.shape().rank() == 2,
      "{}: weight must have rank 2, has {}",
      in_folder(checkpoint, name),
      codes.shape().str()
  );
  return codes;
}

Tensor read_float_scales(const Checkpoint& checkpoint, const std::string& name) {
  const TensorView stored = checkpoint.tensor(name);
  if (stored.type == DType::kF32) return borrow_aligned(checkpoint, name);
  require_data(
      is_plain_float(stored.type) || stored.type == DType::kF8E8M0,
      "{}: block scales are {}, expected F32, BF16, F16 or F8_E8M0",
      in_folder(checkpoint, name),
      dtype_name(stored.type)
  );
  Tensor scales(DType::kF32, stored.shape);
  load_floats(stored.type, stored.data, stored.numel(), scales.as<float>().data());
  return scales;
}

Tensor read_e8m0_scales(const Checkpoint& checkpoint, const std::string& name) {
  const TensorView stored = checkpoint.tensor(name);
  require_data(
      stored.type == DType::kU8 || stored.type == DType::kF8E8M0,
      "{}: block scales are {}, expected U8 or F8_E8M0",
      in_folder(checkpoint, name),
      dtype_name(stored.type)
  );
  const Tensor bytes = checkpoint.borrow(name);
  return Tensor::borrow(
      {DType::kF8E8M0, stored.shape, bytes.view().data}, std::make_shared<const Tensor>(bytes)
  );
}

float read_scalar(const Checkpoint& checkpoint, const std::string& name) {
  const TensorView view = checkpoint.tensor(name);
  const std::string where = in_folder(checkpoint, name);
  require_data(
      is_plain_float(view.type) && view.numel() == 1,
      "{}: expected one F32, found {} {}",
      where,
      dtype_name(view.type),
      view.shape.str()
  );
  float value = 0;
  load_floats(view.type, view.data, 1, &value);
  require_data(
      std::isfinite(value) && value > 0, "{}: must be positive and finite, is {}", where, value
  );
  return value;
}

void check_float_scales(const QuantizedTensor& tensor, const std::string& where) {
  const std::span<const float> scales = tensor.block_scales.view().as<float>();
  const bool blocks = tensor.format == Format::kBlockFp8;
  const int64_t rows = blocks ? kFp8Block : 1;
  const int64_t cols = blocks ? kFp8Block : std::max<int64_t>(tensor.cols, 1);
  const int64_t across = tensor.block_scales.shape().dim(1);
  for (int64_t b = 0; b < std::ssize(scales); ++b) {
    if (std::isfinite(scales[b]) && scales[b] > 0.0F) continue;
    require_data(
        scales[b] == 0.0F &&
            codes_are_zero(tensor, b / across * rows, rows, b % across * cols, cols),
        "{}: block scale [{}, {}] is {}, expected a positive finite number",
        where,
        b / across,
        b % across,
        scales[b]
    );
  }
}

}  // namespace hone
