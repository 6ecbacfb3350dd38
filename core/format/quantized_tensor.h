// The one in-memory form of a quantized linear weight, whatever it is called on disk.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/tensor/tensor.h"

namespace hone {

// What the codes and scales mean. The codecs are core/format/block_fp8.h, nvfp4.h, fp8_scaled.h
// (channel and tensor) and mx.h.
enum class Format : uint8_t {
  kBlockFp8,    // E4M3 codes, F32 scale for each 128x128 block (ragged edges allowed)
  kNvfp4,       // E2M1 codes in pairs, E4M3 scale for 16 elements of a row, F32 global scale
  kFp8Channel,  // E4M3 codes, F32 scale for each row (output channel)
  kFp8Tensor,   // E4M3 codes, one F32 global scale
  kMxfp4,       // E2M1 codes in pairs, E8M0 scale for 32 elements of a row
  kMxfp8,       // E4M3 codes, E8M0 scale for 32 elements of a row
};
// All of them, in the order of the enumeration.
std::span<const Format> all_formats();
// "fp8-block", "nvfp4", "fp8-channel", "fp8-tensor", "mxfp4", "mxfp8".
std::string_view format_name(Format format);
// Inverse of format_name; nullopt for unknown names.
std::optional<Format> parse_format(std::string_view name);

// How the runtime quantizes the input of the matmul before multiplying. "Dynamic" scales come from
// the values themselves.
enum class ActivationRule : uint8_t {
  kNone,         // stays in the compute dtype
  kFp8Group128,  // E4M3, one F32 scale for each 1x128 (dynamic)
  kNvfp4,        // E2M1, E4M3 scale for each 1x16 (dynamic), calibrated F32 input scale
  kFp8Token,     // E4M3, one F32 scale for each row (dynamic)
  kFp8Tensor,    // E4M3, one calibrated F32 input scale for everything (static)
  kMxfp4,        // E2M1, E8M0 scale for each 1x32 (dynamic)
  kMxfp8,        // E4M3, E8M0 scale for each 1x32 (dynamic)
};
// "none", "fp8-group128", "nvfp4", "fp8-token", "fp8-tensor", "mxfp4", "mxfp8".
std::string_view activation_rule_name(ActivationRule rule);
// Does the rule need QuantizedTensor::input_scale? (kNvfp4, kFp8Tensor)
bool needs_input_scale(ActivationRule rule);

// A per-tensor F32 scalar exactly as stored, with its direction: real = code * value for
// multipliers (ModelOpt), real = code / value for divisors (compressed-tensors).
struct GlobalScale {
  float value = 1.0F;
  bool divisor = false;
  // The factor codes are multiplied by.
  [[nodiscard]] float multiplier() const { return divisor ? 1.0F / value : value; }
  // The scale of a block under this one, rounded once.
  [[nodiscard]] float applied_to(float block) const {
    return divisor ? block / value : block * value;
  }
  // 1 / multiplier(), without a second rounding where the stored value is the divisor.
  [[nodiscard]] float reciprocal() const { return divisor ? value : 1.0F / value; }
};

// Dtypes and shapes of the parts of a [rows, cols] matrix.
struct FormatLayout {
  DType codes = DType::kU8;
  Shape codes_shape;
  DType block_scales = DType::kF32;
  Shape block_scales_shape;  // no elements for kFp8Tensor, which has only the global scale
  bool global_scale = false;
  int64_t column_multiple = 1;  // cols must be divisible by this

  [[nodiscard]] bool has_block_scales() const { return block_scales_shape.rank() > 0; }
};
// Sizes are those of the definition below; cols is rounded down to the column multiple.
FormatLayout format_layout(Format format, int64_t rows, int64_t cols);

// W: [rows, cols] (out_features, in_features).
//   kBlockFp8:   codes F8E4M3 [rows, cols]; block_scales F32 [cdiv(rows,128), cdiv(cols,128)],
//                W ~ e4m3(code) * scale
//   kNvfp4:      codes U8 [rows, cols/2], even column in the low nibble; block_scales F8E4M3
//                [rows, cols/16], not swizzled; W ~ e2m1(code) * global.applied_to(e4m3(scale))
//   kFp8Channel: codes F8E4M3 [rows, cols]; block_scales F32 [rows, 1], W ~ e4m3(code) * scale
//   kFp8Tensor:  codes F8E4M3 [rows, cols]; no block_scales, W ~ e4m3(code) * global.multiplier()
//   kMxfp4:      codes U8 [rows, cols/2] as kNvfp4; block_scales F8E8M0 [rows, cols/32],
//                W ~ e2m1(code) * e8m0(scale)
//   kMxfp8:      codes F8E4M3 [rows, cols]; block_scales F8E8M0 [rows, cols/32],
//                W ~ e4m3(code) * e8m0(scale)
// Dialects that store E8M0 bytes as U8 read and write them as F8E8M0. Tensors may borrow from a
// checkpoint mapping.
struct QuantizedTensor {
  Format format = Format::kBlockFp8;
  int64_t rows = 0;
  int64_t cols = 0;
  Tensor codes;
  Tensor block_scales;
  GlobalScale global;  // kNvfp4 and kFp8Tensor
  ActivationRule activation = ActivationRule::kNone;
  // As a multiplier act_amax / 2688 (kNvfp4) or act_amax / 448 (kFp8Tensor).
  std::optional<GlobalScale> input_scale;

  // Throws DataError naming `name` when dtypes or shapes contradict the format.
  void validate(std::string_view name) const;
  // Bytes of codes, scales and scalars.
  [[nodiscard]] int64_t stored_bytes() const;
};

// Rows [row0, row0 + n) as float32 into out [n, cols]. Exact: each element is one correctly
// rounded product chain as the formats' documents define it.
void dequantize_rows(const QuantizedTensor& tensor, int64_t row0, int64_t n, float* out);

}  // namespace hone
