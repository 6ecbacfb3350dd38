// NVFP4: E2M1 codes, an E4M3 scale for each 16 elements of a row, one float32 scale g per tensor.
//
//   s[i, b] = e4m3(scale[i, b]) * g, or / g for a divisor       (one rounding, to float32)
//   W[i, j] ~ e2m1(code[i, j]) * s[i, j / 16]                   (one rounding, to float32)
//
// W: [rows, cols], cols a multiple of 16; codes: U8 [rows, cols / 2], even column in the low
// nibble; scales: F8_E4M3 [rows, cols / 16], row-major (not swizzled). g is a multiplier
// (ModelOpt's weight_scale_2) or a divisor (compressed-tensors' weight_global_scale).
//
// Encoder, in float32 arithmetic of one rounding per operation:
//   g     = nvfp4_global_scale(amax of the tensor, or of its fused group)
//   scale = e4m3_encode(max((block amax / 6) / g, 2^-9))        a non-zero block never dies
//   scale = 1 (0x38) for a block that is all zero
//   code  = e2m1_encode(x / (e4m3(scale) * g))                  with the rounded scale
// Codes round to nearest even and clamp at 6; the sign bit of x is kept, for zeros too.
// Source: ModelOpt NVFP4QTensor; compressed-tensors stores the same bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/format/quantized_tensor.h"
#include "core/format/row_slab.h"

namespace hone {

inline constexpr int64_t kNvfp4Block = 16;
// Largest code times largest block scale.
inline constexpr float kNvfp4Range = 2688.0F;

// The same where a block may be scaled to end at 4 instead of 6 (Four-Over-Six): its scale is 1.5
// times larger and still a code, since the largest amax gets scale 256.
inline constexpr float kNvfp4FourOverSixRange = 1536.0F;

// g for a tensor (or fused group) with this amax: the smallest float32 >= amax / range that
// survives being stored as its reciprocal: g == RN(1 / RN(1 / g)). At least 2^-126 (so that neither
// g nor 1/g is subnormal or infinite); 1 for an all-zero tensor. amax must be finite (UsageError).
float nvfp4_global_scale(float amax, float range = kNvfp4Range);

// The block scale code for a block with this amax under g.
uint8_t nvfp4_block_scale(float block_amax, float g);

// Encode pass over a slab under the global scale g. codes: [slab.rows, cols / 2]; scales:
// [slab.rows, cols / 16], both of this slab. The slab must be finite (slab_amax checks it).
// UsageError unless cols is a multiple of 16 and g positive and finite. Independent of slab size
// and threads.
void nvfp4_encode(const RowSlab& slab, float g, uint8_t* codes, uint8_t* scales, ThreadPool& pool);

// Encodes with block scales that the caller chose (finite, not 0), otherwise as above.
void nvfp4_encode_with_scales(
    const RowSlab& slab, float g, const uint8_t* scales, uint8_t* codes, ThreadPool& pool
);

// codes, scales: of these rows. out: [rows, cols] f32.
struct Nvfp4Rows {
  const uint8_t* codes = nullptr;
  const uint8_t* scales = nullptr;
  float g = 1.0F;
  int64_t rows = 0;
  int64_t cols = 0;
  bool divisor = false;  // g divides
};
void nvfp4_decode(const Nvfp4Rows& source, float* out);

// A whole matrix (F32|BF16|F16, rank 2) under the global scale g. Throws DataError naming `name`
// and the element for NaN and infinities, UsageError when cols is not a multiple of 16.
QuantizedTensor quantize_nvfp4(
    const TensorView& weight, float g, std::string_view name, ThreadPool& pool
);

}  // namespace hone
