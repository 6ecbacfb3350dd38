// Round to nearest with amax scales: the baseline method. Needs no data.
//
//   fp8-block, fp8-channel, mxfp4, mxfp8: one pass; a block's (row's) scale comes from its amax
//   nvfp4, fp8-tensor: the global scale comes from an amax pass over the tensor or all members of
//                      its fused group; then one encode pass
// The arithmetic is in core/format: block_fp8.h, nvfp4.h, fp8_scaled.h, mx.h.
#pragma once

#include <cstddef>
#include <optional>

#include "core/format/mx.h"
#include "core/format/row_slab.h"
#include "quant/scheme.h"

namespace hone {

struct RtnOptions {
  Format format = Format::kBlockFp8;
  ScaleKind scale_kind = ScaleKind::kF32;     // kBlockFp8
  MxScaleRule mx_rule = MxScaleRule::kFloor;  // kMxfp4, kMxfp8
  float global_scale = 1.0F;                  // has_global_scale(format): a multiplier
};

// Formats with a global scale: their slabs must be known to be finite before they are encoded.
bool has_global_scale(Format format);
// The global scale of a tensor, or fused group, with this amax; 1 for formats without one.
float rtn_global_scale(Format format, float amax);

// Bytes of the codes and block scales of `rows` rows that start at a multiple of 128.
struct EncodedSize {
  int64_t codes = 0;
  int64_t block_scales = 0;
};
EncodedSize encoded_size(Format format, int64_t rows, int64_t cols);

// Encodes a slab whose row0 is a multiple of 128. codes, block_scales: of encoded_size() bytes,
// aligned to 4. Returns the first NaN or infinity (the output is then unspecified); slabs of
// formats with a global scale must be finite already (slab_amax). Same bytes for every number of
// threads and every way of cutting the tensor into slabs.
std::optional<NonFinite> rtn_encode(
    const RowSlab& slab,
    const RtnOptions& options,
    std::byte* codes,
    std::byte* block_scales,
    ThreadPool& pool
);

}  // namespace hone
