// The one in-memory form of a quantized linear weight, whatever it is called on disk.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/tensor/tensor.h"

namespace hone {

// What the codes and scales mean. Each has its codec in core/format/<name>.h.
enum class Format : uint8_t {
  kBlockFp8,  // E4M3 codes, F32 scale for each 128x128 block (ragged edges allowed)
  kNvfp4,     // E2M1 codes in pairs, E4M3 scale for 16 elements of a row, F32 global scale
};
// "fp8-block", "nvfp4".
std::string_view format_name(Format format);

// How the runtime quantizes the input of the matmul before multiplying.
enum class ActivationRule : uint8_t {
  kNone,         // stays in the compute dtype
  kFp8Group128,  // E4M3, one F32 scale for each 1x128 (dynamic)
  kNvfp4,        // E2M1, E4M3 scale for each 1x16 (dynamic), calibrated F32 input scale
};
std::string_view activation_rule_name(ActivationRule rule);

// A per-tensor F32 scalar exactly as stored, with its direction: real = code * value for
// multipliers (ModelOpt), real = code / value for divisors (compressed-tensors).
struct GlobalScale {
  float value = 1.0F;
  bool divisor = false;
  // The factor codes are multiplied by.
  [[nodiscard]] float multiplier() const { return divisor ? 1.0F / value : value; }
  // 1 / multiplier(), without a second rounding where the stored value is the divisor.
  [[nodiscard]] float reciprocal() const { return divisor ? value : 1.0F / value; }
};

// W: [rows, cols] (out_features, in_features).
//   kBlockFp8: codes F8E4M3 [rows, cols]; block_scales F32 [cdiv(rows,128), cdiv(cols,128)],
//              W ~ e4m3(code) * scale
//   kNvfp4:    codes U8 [rows, cols/2], even column in the low nibble; block_scales F8E4M3
//              [rows, cols/16], not swizzled; W ~ e2m1(code) * e4m3(scale) * global.multiplier()
// Tensors may borrow from a checkpoint mapping.
struct QuantizedTensor {
  Format format = Format::kBlockFp8;
  int64_t rows = 0;
  int64_t cols = 0;
  Tensor codes;
  Tensor block_scales;
  GlobalScale global;  // kNvfp4 only
  ActivationRule activation = ActivationRule::kNone;
  std::optional<GlobalScale> input_scale;  // activation == kNvfp4: act_amax / 2688 as a multiplier

  // Throws DataError naming `name` when dtypes or shapes contradict the format.
  void validate(std::string_view name) const;
  // Bytes of codes, scales and scalars.
  [[nodiscard]] int64_t stored_bytes() const;
};

// Rows [row0, row0 + n) as float32 into out [n, cols]. Exact: each element is one correctly
// rounded product chain as the formats' documents define it.
void dequantize_rows(const QuantizedTensor& tensor, int64_t row0, int64_t n, float* out);

}  // namespace hone
