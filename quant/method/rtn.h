// Round to nearest with amax scales: the baseline method. Needs no data.
//
//   block FP8: one pass; a block's scale is its amax / 448 (or the power of two above)
//   NVFP4:     the tensor's (or fused group's) global scale comes from an amax pass over all its
//              members; then one encode pass
// The arithmetic is in core/format/block_fp8.h and core/format/nvfp4.h.
#pragma once

#include <cstddef>
#include <optional>

#include "core/format/row_slab.h"
#include "quant/scheme.h"

namespace hone {

struct RtnOptions {
  Format format = Format::kBlockFp8;
  ScaleKind scale_kind = ScaleKind::kF32;  // kBlockFp8 only
  float global_scale = 1.0F;               // kNvfp4 only, a multiplier
};

// Bytes of the codes and block scales of `rows` rows that start at a multiple of 128.
struct EncodedSize {
  int64_t codes = 0;
  int64_t block_scales = 0;
};
EncodedSize encoded_size(Format format, int64_t rows, int64_t cols);

// Encodes a slab whose row0 is a multiple of 128. codes, block_scales: of encoded_size() bytes,
// aligned to 4. Returns the first NaN or infinity of block FP8 (the output is then unspecified);
// NVFP4 slabs must be finite already (slab_amax). Same bytes for every number of threads and every
// way of cutting the tensor into slabs.
std::optional<NonFinite> rtn_encode(
    const RowSlab& slab,
    const RtnOptions& options,
    std::byte* codes,
    std::byte* block_scales,
    ThreadPool& pool
);

}  // namespace hone
