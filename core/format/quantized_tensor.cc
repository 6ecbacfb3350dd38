#include "core/format/quantized_tensor.h"

#include <array>
#include <cmath>

#include "core/format/block_fp8.h"
#include "core/format/fp8_scaled.h"
#include "core/format/mx.h"
#include "core/format/nvfp4.h"

namespace hone {
namespace {

constexpr std::array kAllFormats = {
    Format::kBlockFp8,
    Format::kNvfp4,
    Format::kFp8Channel,
    Format::kFp8Tensor,
    Format::kMxfp4,
    Format::kMxfp8};

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

std::span<const Format> all_formats() {
  return kAllFormats;
}

std::string_view format_name(Format format) {
  switch (format) {
    case Format::kBlockFp8:
      return "fp8-block";
    case Format::kNvfp4:
      return "nvfp4";
    case Format::kFp8Channel:
      return "fp8-channel";
    case Format::kFp8Tensor:
      return "fp8-tensor";
    case Format::kMxfp4:
      return "mxfp4";
    case Format::kMxfp8:
      return "mxfp8";
  }
  throw InternalError("unknown format");
}

std::optional<Format> parse_format(std::string_view name) {
  for (const Format format : kAllFormats) {
    if (format_name(format) == name) return format;
  }
  return std::nullopt;
}

std::string_view activation_rule_name(ActivationRule rule) {
  switch (rule) {
    case ActivationRule::kNone:
      return "none";
    case ActivationRule::kFp8Group128:
      return "fp8-group128";
    case ActivationRule::kNvfp4:
      return "nvfp4";
    case ActivationRule::kFp8Token:
      return "fp8-token";
    case ActivationRule::kFp8Tensor:
      return "fp8-tensor";
    case ActivationRule::kMxfp4:
      return "mxfp4";
    case ActivationRule::kMxfp8:
      return "mxfp8";
  }
  throw InternalError("unknown activation rule");
}

bool needs_input_scale(ActivationRule rule) {
  return rule == ActivationRule::kNvfp4 || rule == ActivationRule::kFp8Tensor;
}

FormatLayout format_layout(Format format, int64_t rows, int64_t cols) {
  FormatLayout layout;
  layout.codes = DType::kF8E4M3;
  layout.codes_shape = {rows, cols};
  switch (format) {
    case Format::kBlockFp8:
      layout.block_scales_shape = {fp8_blocks(rows), fp8_blocks(cols)};
      break;
    case Format::kNvfp4:
      layout.column_multiple = kNvfp4Block;
      layout.codes = DType::kU8;
      layout.codes_shape = {rows, cols / kNvfp4Block * (kNvfp4Block / 2)};
      layout.block_scales = DType::kF8E4M3;
      layout.block_scales_shape = {rows, cols / kNvfp4Block};
      layout.global_scale = true;
      break;
    case Format::kFp8Channel:
      layout.block_scales_shape = {rows, 1};
      break;
    case Format::kFp8Tensor:
      layout.global_scale = true;
      break;
    case Format::kMxfp4:
      layout.codes = DType::kU8;
      layout.codes_shape = {rows, cols / kMxBlock * (kMxBlock / 2)};
      [[fallthrough]];
    case Format::kMxfp8:
      layout.column_multiple = kMxBlock;
      layout.block_scales = DType::kF8E8M0;
      layout.block_scales_shape = {rows, cols / kMxBlock};
      break;
  }
  return layout;
}

void QuantizedTensor::validate(std::string_view name) const {
  require_data(rows >= 0 && cols >= 0, "{}: shape [{}, {}] is negative", name, rows, cols);
  const FormatLayout layout = format_layout(format, rows, cols);
  require_data(
      cols % layout.column_multiple == 0,
      "{}: {} columns, but {} needs a multiple of {}",
      name,
      cols,
      format_name(format),
      layout.column_multiple
  );
  check_part(name, "codes", codes, layout.codes, layout.codes_shape);
  if (layout.has_block_scales()) {
    check_part(name, "block scales", block_scales, layout.block_scales, layout.block_scales_shape);
  } else {
    require_data(
        block_scales.empty(),
        "{}: {} has one global scale, yet there are block scales {}",
        name,
        format_name(format),
        block_scales.shape().str()
    );
  }
  if (layout.global_scale) check_scalar(name, "global scale", global);
  if (needs_input_scale(activation)) {
    require_data(
        input_scale.has_value(),
        "{}: {} activations need an input scale, none is stored",
        name,
        activation_rule_name(activation)
    );
    check_scalar(name, "input scale", *input_scale);
  }
}

int64_t QuantizedTensor::stored_bytes() const {
  const int64_t scalar = static_cast<int64_t>(sizeof(float));
  const FormatLayout layout = format_layout(format, rows, cols);
  int64_t bytes = codes.nbytes();
  if (layout.has_block_scales()) bytes += block_scales.nbytes();
  if (layout.global_scale) bytes += scalar;
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
  const int64_t cols = tensor.cols;
  const auto* codes = reinterpret_cast<const uint8_t*>(tensor.codes.bytes());
  const auto* scales = reinterpret_cast<const uint8_t*>(tensor.block_scales.bytes());
  switch (tensor.format) {
    case Format::kBlockFp8: {
      const float* blocks = tensor.block_scales.as<float>().data();
      block_fp8_decode({codes + row0 * cols, blocks, row0, n, cols}, out);
      return;
    }
    case Format::kNvfp4: {
      const GlobalScale& g = tensor.global;
      codes += row0 * (cols / 2);
      scales += row0 * (cols / kNvfp4Block);
      nvfp4_decode({codes, scales, g.value, n, cols, g.divisor}, out);
      return;
    }
    case Format::kFp8Channel: {
      const float* channels = tensor.block_scales.as<float>().data() + row0;
      fp8_scaled_decode({codes + row0 * cols, channels, 1.0F, n, cols}, out);
      return;
    }
    case Format::kFp8Tensor:
      fp8_scaled_decode({codes + row0 * cols, nullptr, tensor.global.multiplier(), n, cols}, out);
      return;
    case Format::kMxfp4:
    case Format::kMxfp8: {
      codes += row0 * (tensor.format == Format::kMxfp4 ? cols / 2 : cols);
      mx_decode({tensor.format, codes, scales + row0 * (cols / kMxBlock), n, cols}, out);
      return;
    }
  }
  throw InternalError("unknown format");
}

}  // namespace hone
