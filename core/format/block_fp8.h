// Block FP8: E4M3 codes with one float32 scale for each 128x128 block, as DeepSeek-V3 stores it.
//
//   W[i, j] ~ e4m3(code[i, j]) * scale[i / 128, j / 128]        (one rounding, to float32)
//
// W: [rows, cols]; codes: U8/F8_E4M3 [rows, cols]; scales: F32 [cdiv(rows,128), cdiv(cols,128)],
// row-major. Blocks on the lower and right edge may be partial; their amax is that of the elements
// they have.
//
// Encoder, in float32 arithmetic of one rounding per operation:
//   s = amax / 448                                        (Fp8Scale::kAmax)
//   s = the smallest power of two >= amax / 448           (Fp8Scale::kPowerOfTwo, UE8M0-valued)
//   s = max(s, 2^-126)                                    (devices flush smaller scales to zero)
//   s = 1 for a block that is all zero
//   code = e4m3_encode(x / s)       clamped to +-448, nearest even; the sign of zero is kept
// Source: DeepSeek-V3 README_WEIGHTS and inference/kernel.py; DeepGEMM for the power-of-two rule.
#pragma once

#include <cstdint>
#include <optional>

#include "core/format/quantized_tensor.h"
#include "core/format/row_slab.h"

namespace hone {

inline constexpr int64_t kFp8Block = 128;

enum class Fp8Scale : uint8_t { kAmax, kPowerOfTwo };

struct BlockFp8Rule {
  Fp8Scale scale = Fp8Scale::kAmax;
  // Block amax is raised to this before the scale is computed, for emulating encoders that do so
  // (1e-4 in DeepGEMM). With 0 (our own encoder) an all-zero block gets scale 1.
  float amax_floor = 0.0F;
};

// Number of blocks along a dimension.
constexpr int64_t fp8_blocks(int64_t size) {
  return (size + kFp8Block - 1) / kFp8Block;
}

// The scale of a block with this amax (finite, >= 0).
float block_fp8_scale(float amax, const BlockFp8Rule& rule);

// Encodes a slab in one pass over its bytes. slab.row0 must be a multiple of 128, and so must
// slab.rows unless the slab ends the tensor (UsageError for row0).
// codes: [slab.rows, cols]; scales: [cdiv(slab.rows,128), cdiv(cols,128)], both of this slab.
// When a NaN or infinity is returned the output is unspecified. Independent of slab size and
// threads.
std::optional<NonFinite> block_fp8_encode(
    const RowSlab& slab, const BlockFp8Rule& rule, uint8_t* codes, float* scales, ThreadPool& pool
);

// Encodes with scales that the caller chose (positive, finite), otherwise as above.
void block_fp8_encode_with_scales(
    const RowSlab& slab, const float* scales, uint8_t* codes, ThreadPool& pool
);

// Columns [0, cols) of `rows` rows that start at row `row0` of the tensor.
// codes: those rows; scales: the whole tensor's. out: [rows, cols] f32.
struct BlockFp8Rows {
  const uint8_t* codes = nullptr;
  const float* scales = nullptr;
  int64_t row0 = 0;
  int64_t rows = 0;
  int64_t cols = 0;
};
void block_fp8_decode(const BlockFp8Rows& source, float* out);

// A whole matrix (F32|BF16|F16, rank 2). Throws DataError naming `name` and the element for NaN
// and infinities.
QuantizedTensor quantize_block_fp8(
    const TensorView& weight, const BlockFp8Rule& rule, std::string_view name, ThreadPool& pool
);

// The same values (as near as E4M3 allows) under power-of-two scales: what engines on Blackwell do
// at load. Blocks whose scale is a power of two already are kept as they are, so the step is then
// lossless; others are decoded to float32 and encoded anew under kPowerOfTwo with amax floor 1e-4.
QuantizedTensor requantize_power_of_two(const QuantizedTensor& tensor, ThreadPool& pool);

}  // namespace hone
