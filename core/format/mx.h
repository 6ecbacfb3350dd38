// MXFP4 and MXFP8: E2M1 or E4M3 codes with a power-of-two scale for each 32 elements of a row.
//
//   W[i, j] ~ element(code[i, j]) * 2^(scale[i, j / 32] - 127)     (one rounding, to float32)
//
// W: [rows, cols], cols a multiple of 32; codes: U8 [rows, cols / 2], even column in the low nibble
// (MXFP4), or U8/F8_E4M3 [rows, cols] (MXFP8); scales: F8_E8M0 [rows, cols / 32], row-major (not
// swizzled). There is no global scale.
//
// Encoder: the scale is a power of two by one of the rules below, so that x / 2^n is exact and
// codes are rounded once: to nearest even, clamped to +-6 (+-448); the sign bit of x is kept, for
// zeros too. A block that is all zero has scale 1 (code 127).
// Source: OCP Microscaling Formats (MX) v1.0, sections 5 and 6.3.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/format/quantized_tensor.h"
#include "core/format/row_slab.h"

namespace hone {

inline constexpr int64_t kMxBlock = 32;
// The scale code of a block that is all zero: 1.
inline constexpr uint8_t kMxZeroBlockScale = 127;

// The exponent n of a block's scale from its amax, where emax = floor(log2(largest element)): 2 for
// E2M1, 8 for E4M3. Exponents below -127 become -127.
enum class MxScaleRule : uint8_t {
  kFloor,  // floor(log2 amax) - emax: the OCP rule; amax above 6 (448) * 2^n is clamped
  kRound,  // as kFloor, one more from a significand of 1.75 on: compressed-tensors' encoder
  kCeil,   // the smallest with amax <= 6 (448) * 2^n, nothing clamped: ModelOpt, Transformer Engine
};

// A rule as arithmetic on bits: code = ((bits(amax) + add) >> 23) - emax, at least 0; `add` carries
// into the exponent from the significand on at which the rule goes one up. format: kMxfp4 or kMxfp8
// (UsageError).
struct MxScaleBias {
  int32_t add = 0;
  int32_t emax = 0;
};
MxScaleBias mx_scale_bias(Format format, MxScaleRule rule);

// The scale code for a block with this amax (finite, >= 0). format: kMxfp4 or kMxfp8 (UsageError).
uint8_t mx_block_scale(float amax, Format format, MxScaleRule rule);

// One pass over a slab. codes, scales: of this slab, sizes as above. UsageError for another format
// or cols not divisible by 32. When a NaN or infinity is returned the output is unspecified.
// Independent of slab size and threads.
struct MxTarget {
  Format format = Format::kMxfp4;
  MxScaleRule rule = MxScaleRule::kFloor;
  uint8_t* codes = nullptr;
  uint8_t* scales = nullptr;
};
std::optional<NonFinite> mx_encode(const RowSlab& slab, const MxTarget& target, ThreadPool& pool);

// Encodes with the scales that target.scales holds (0 to 254); target.rule is not used. The slab
// must be finite.
void mx_encode_with_scales(const RowSlab& slab, const MxTarget& target, ThreadPool& pool);

// codes, scales: of these rows. out: [rows, cols] f32. A scale of 255 gives NaN.
struct MxRows {
  Format format = Format::kMxfp4;
  const uint8_t* codes = nullptr;
  const uint8_t* scales = nullptr;
  int64_t rows = 0;
  int64_t cols = 0;
};
void mx_decode(const MxRows& source, float* out);

// A whole matrix (F32|BF16|F16, rank 2). Throws DataError naming `name` and the element for NaN and
// infinities, UsageError for another format or cols not divisible by 32.
struct MxOptions {
  Format format = Format::kMxfp4;
  MxScaleRule rule = MxScaleRule::kFloor;
};
QuantizedTensor quantize_mx(
    const TensorView& weight, const MxOptions& options, std::string_view name, ThreadPool& pool
);

}  // namespace hone
