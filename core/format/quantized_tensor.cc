#include "core/format/quantized_tensor.h"

#include <cmath>

#include "core/format/block_fp8.h"
#include "core/format/nvfp4.h"

namespace hone {
namespace {

void check_part(
    std::string_view name,
    std::string_view part,
    const Tensor& tensor,
    DType type,
    const Shape& shape
) {
  require_data(!tensor.empty(), "{}: the {} are missing", name, part);
  require_data(
      tensor.type() == type && tensor.shape() == shape,
      "{}: the {} are {} {}, expected {} {}",
      name,
      part,
      dtype_name(tensor.type()),
      tensor.shape().str(),
      dtype_name(type),
      shape.str()
  );
}

void check_scalar(std::string_view name, std::string_view part, const GlobalScale& scalar) {
  require_data(
      std::isfinite(scalar.value) && scalar.value > 0.0F,
      "{}: the {} is {}, expected a positive finite number",
      name,
      part,
      scalar.value
  );
}

}  // namespace

std::string_view format_name(Format format) {
  switch (format) {
    case Format::kBlockFp8:
      return "fp8-block";
    case Format::kNvfp4:
      return "nvfp4";
  }
  throw InternalError("unknown format");
}

std::string_view activation_rule_name(ActivationRule rule) {
  switch (rule) {
    case ActivationRule::kNone:
      return "none";
    case ActivationRule::kFp8Group128:
      return "fp8-group128";
    case ActivationRule::kNvfp4:
      return "nvfp4";
  }
  throw InternalError("unknown activation rule");
}

void QuantizedTensor::validate(std::string_view name) const {
  require_data(rows >= 0 && cols >= 0, "{}: shape [{}, {}] is negative", name, rows, cols);
  if (format == Format::kBlockFp8) {
    check_part(name, "codes", codes, DType::kF8E4M3, {rows, cols});
    const Shape scales{fp8_blocks(rows), fp8_blocks(cols)};
    check_part(name, "block scales", block_scales, DType::kF32, scales);
  } else {
    require_data(
        cols % kNvfp4Block == 0,
        "{}: {} columns, but NVFP4 needs a multiple of {}",
        name,
        cols,
        kNvfp4Block
    );
    check_part(name, "codes", codes, DType::kU8, {rows, cols / 2});
    check_part(name, "block scales", block_scales, DType::kF8E4M3, {rows, cols / kNvfp4Block});
    check_scalar(name, "global scale", global);
  }
  if (activation == ActivationRule::kNvfp4) {
    require_data(
        input_scale.has_value(), "{}: NVFP4 activations need an input scale, none is stored", name
    );
    check_scalar(name, "input scale", *input_scale);
  }
}

int64_t QuantizedTensor::stored_bytes() const {
  const int64_t scalar = static_cast<int64_t>(sizeof(float));
  int64_t bytes = codes.nbytes() + block_scales.nbytes();
  if (format == Format::kNvfp4) bytes += scalar;
  if (input_scale) bytes += scalar;
  return bytes;
}

void dequantize_rows(const QuantizedTensor& tensor, int64_t row0, int64_t n, float* out) {
  require(
      row0 >= 0 && n >= 0 && row0 <= tensor.rows && n <= tensor.rows - row0,
      "rows [{}, {}) of a tensor of {} rows",
      row0,
      row0 + n,
      tensor.rows
  );
  const auto* codes = reinterpret_cast<const uint8_t*>(tensor.codes.bytes());
  if (tensor.format == Format::kBlockFp8) {
    const float* scales = tensor.block_scales.as<float>().data();
    block_fp8_decode({codes + row0 * tensor.cols, scales, row0, n, tensor.cols}, out);
  } else {
    const auto* scales = reinterpret_cast<const uint8_t*>(tensor.block_scales.bytes());
    const int64_t width = tensor.cols / kNvfp4Block;
    const Nvfp4Rows rows{
        codes + row0 * (tensor.cols / 2),
        scales + row0 * width,
        tensor.global.multiplier(),
        n,
        tensor.cols};
    nvfp4_decode(rows, out);
  }
}

}  // namespace hone
