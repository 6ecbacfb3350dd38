#include "quant/method/rtn.h"

#include "core/base/error.h"
#include "core/format/block_fp8.h"
#include "core/format/nvfp4.h"

namespace hone {

EncodedSize encoded_size(Format format, int64_t rows, int64_t cols) {
  if (format == Format::kBlockFp8) {
    const auto scale_size = static_cast<int64_t>(sizeof(float));
    return {rows * cols, fp8_blocks(rows) * fp8_blocks(cols) * scale_size};
  }
  return {rows * cols / 2, rows * (cols / kNvfp4Block)};
}

std::optional<NonFinite> rtn_encode(
    const RowSlab& slab,
    const RtnOptions& options,
    std::byte* codes,
    std::byte* block_scales,
    ThreadPool& pool
) {
  auto* code_bytes = reinterpret_cast<uint8_t*>(codes);
  if (options.format == Format::kBlockFp8) {
    BlockFp8Rule rule;
    if (options.scale_kind == ScaleKind::kUe8m0) rule.scale = Fp8Scale::kPowerOfTwo;
    return block_fp8_encode(slab, rule, code_bytes, reinterpret_cast<float*>(block_scales), pool);
  }
  auto* scales = reinterpret_cast<uint8_t*>(block_scales);
  nvfp4_encode(slab, options.global_scale, code_bytes, scales, pool);
  return std::nullopt;
}

}  // namespace hone
