// FP8 with one float32 scale for each row (output channel), or one for the whole matrix.
//
//   channel:  W[i, j] ~ e4m3(code[i, j]) * scale[i]            (one rounding, to float32)
//   tensor:   W[i, j] ~ e4m3(code[i, j]) * g
//
// W: [rows, cols]; codes: U8/F8_E4M3 [rows, cols]; scale: F32 [rows, 1]; g: F32, a multiplier.
//
// Encoder, in float32 arithmetic of one rounding per operation:
//   s = fp8_scale(amax of the row, or of the tensor, or of its fused group)
//     = max(amax / 448, 2^-126); 1 for a row or tensor that is all zero
//   code = e4m3_encode(x / s)       clamped to +-448, nearest even; the sign of zero is kept
// Source: compressed-tensors "float-quantized" with strategies channel and tensor; ModelOpt FP8 and
// FP8_PER_CHANNEL_PER_TOKEN store the same numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/format/quantized_tensor.h"
#include "core/format/row_slab.h"

namespace hone {

// amax / 448 as above; amax must be finite (UsageError).
float fp8_scale(float amax);

// One pass over a slab, each row with its own scale. codes: [slab.rows, cols]; scales: [slab.rows].
// When a NaN or infinity is returned the output is unspecified. Independent of slab size and
// threads.
std::optional<NonFinite> fp8_channel_encode(
    const RowSlab& slab, uint8_t* codes, float* scales, ThreadPool& pool
);

// Encodes under one scale (positive and finite, UsageError otherwise). The slab must be finite
// (slab_amax checks it).
void fp8_tensor_encode(const RowSlab& slab, float g, uint8_t* codes, ThreadPool& pool);

// codes: of these rows; scales: of these rows, or null when `g` is the scale of all of them.
// out: [rows, cols] f32.
struct Fp8ScaledRows {
  const uint8_t* codes = nullptr;
  const float* scales = nullptr;
  float g = 1.0F;
  int64_t rows = 0;
  int64_t cols = 0;
};
void fp8_scaled_decode(const Fp8ScaledRows& source, float* out);

// Whole matrices (F32|BF16|F16, rank 2). Throws DataError naming `name` and the element for NaN and
// infinities, UsageError for a scale that is not positive and finite.
QuantizedTensor quantize_fp8_channel(
    const TensorView& weight, std::string_view name, ThreadPool& pool
);
QuantizedTensor quantize_fp8_tensor(
    const TensorView& weight, float g, std::string_view name, ThreadPool& pool
);

}  // namespace hone
