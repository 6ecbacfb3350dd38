#include "quant/method/rtn.h"

#include "core/base/error.h"
#include "core/format/block_fp8.h"
#include "core/format/fp8_scaled.h"
#include "core/format/nvfp4.h"

namespace hone {

bool has_global_scale(Format format) {
  return format_layout(format, 0, 0).global_scale;
}

float rtn_global_scale(Format format, float amax) {
  if (format == Format::kNvfp4) return nvfp4_global_scale(amax);
  if (format == Format::kFp8Tensor) return fp8_scale(amax);
  return 1.0F;
}

EncodedSize encoded_size(Format format, int64_t rows, int64_t cols) {
  const FormatLayout layout = format_layout(format, rows, cols);
  EncodedSize size;
  size.codes = byte_size(layout.codes, layout.codes_shape);
  if (layout.has_block_scales())
    size.block_scales = byte_size(layout.block_scales, layout.block_scales_shape);
  return size;
}

std::optional<NonFinite> rtn_encode(
    const RowSlab& slab,
    const RtnOptions& options,
    std::byte* codes,
    std::byte* block_scales,
    ThreadPool& pool
) {
  auto* code_bytes = reinterpret_cast<uint8_t*>(codes);
  auto* scale_bytes = reinterpret_cast<uint8_t*>(block_scales);
  auto* float_scales = reinterpret_cast<float*>(block_scales);
  switch (options.format) {
    case Format::kBlockFp8: {
      BlockFp8Rule rule;
      if (options.scale_kind == ScaleKind::kUe8m0) rule.scale = Fp8Scale::kPowerOfTwo;
      return block_fp8_encode(slab, rule, code_bytes, float_scales, pool);
    }
    case Format::kNvfp4:
      nvfp4_encode(slab, options.global_scale, code_bytes, scale_bytes, pool);
      return std::nullopt;
    case Format::kFp8Channel:
      return fp8_channel_encode(slab, code_bytes, float_scales, pool);
    case Format::kFp8Tensor:
      fp8_tensor_encode(slab, options.global_scale, code_bytes, pool);
      return std::nullopt;
    case Format::kMxfp4:
    case Format::kMxfp8:
      return mx_encode(slab, {options.format, options.mx_rule, code_bytes, scale_bytes}, pool);
  }
  throw InternalError("unknown format");
}

}  // namespace hone
