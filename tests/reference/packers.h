// The packers of other libraries, byte for byte, as far as they differ from Hone's encoder: written
// from what their CPU code computes, operation by operation with its dtypes, checked against their
// own output (tests/golden/compressed_tensors, tests/golden/modelopt). docs/formats.md lists the
// differences and their size.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "tests/reference/quant_formats.h"

namespace hone::reference {

// ---- arithmetic of PyTorch: float32, and rounded to BF16 after each operation on BF16 tensors

inline float round_to_bf16(float x) {
  if (std::isnan(x)) return x;
  uint32_t bits = 0;
  std::memcpy(&bits, &x, sizeof bits);
  bits += 0x7FFFU + ((bits >> 16) & 1U);
  bits &= 0xFFFF0000U;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

// A tensor's dtype, as the rounding of results.
struct Rounding {
  bool bf16 = false;
  [[nodiscard]] float operator()(float x) const { return bf16 ? round_to_bf16(x) : x; }
};

inline float block_amax(const Matrix& w, int64_t row0, int64_t rows, int64_t col0, int64_t cols) {
  double amax = 0;
  for (int64_t r = row0; r < std::min(row0 + rows, w.rows); ++r) {
    for (int64_t c = col0; c < std::min(col0 + cols, w.cols); ++c)
      amax = std::max(amax, std::fabs(w.at(r, c)));
  }
  return static_cast<float>(amax);
}

// Saturates; NaN keeps its code.
inline uint8_t e4m3_code_or_nan(float x) {
  return std::isnan(x) ? uint8_t{0x7F} : e4m3_code(x);
}

struct Packed {
  std::vector<uint8_t> codes;
  std::vector<float> scales;         // FP8
  std::vector<uint8_t> scale_bytes;  // NVFP4 and MX
  float global = 1.0F;               // NVFP4, as stored
};

inline void put_nibble(std::vector<uint8_t>& codes, size_t at, int code) {
  codes[at / 2] |= static_cast<uint8_t>(at % 2 == 0 ? code : code << 4);
}

// ---- compressed-tensors 0.20

// Rounds magnitudes to nearest even; the sign is that of x < 0: a zero that was rounded to keeps
// it, a -0 loses it.
inline int ct_e2m1_code(float x) {
  return (e2m1_code(std::fabs(x)) & 7) | (x < 0 ? 8 : 0);
}

// Strategies block (128, 128), channel (1, cols) and tensor (rows, cols). Scales have the weight's
// dtype, and so have the quotients before they are rounded to E4M3 (two roundings for BF16).
inline Packed ct_fp8(const Matrix& w, Rounding type, int64_t block_rows, int64_t block_cols) {
  const float eps = type.bf16 ? std::ldexp(1.0F, -7) : std::ldexp(1.0F, -23);
  Packed result;
  result.codes.resize(w.values.size());
  for (int64_t row = 0; row < w.rows; row += block_rows) {
    for (int64_t col = 0; col < w.cols; col += block_cols) {
      float scale = type(block_amax(w, row, block_rows, col, block_cols) / 448.0F);
      if (scale == 0.0F) scale = eps;
      result.scales.push_back(scale);
      for (int64_t r = row; r < std::min(row + block_rows, w.rows); ++r) {
        for (int64_t c = col; c < std::min(col + block_cols, w.cols); ++c) {
          const float scaled = type(static_cast<float>(w.at(r, c)) / scale);
          result.codes[static_cast<size_t>(r * w.cols + c)] = e4m3_code_or_nan(scaled);
        }
      }
    }
  }
  return result;
}

// global: a divisor, rounded to the weight's dtype. Block scales are global * (amax / 6), where
// amax / 6 is rounded to the weight's dtype first; one that rounds to zero becomes 1/8.
inline Packed ct_nvfp4(const Matrix& w, Rounding type) {
  Packed result;
  result.codes.assign(w.values.size() / 2, 0);
  const float tiny = std::numeric_limits<float>::min();
  const float amax = std::max(block_amax(w, 0, w.rows, 0, w.cols), tiny);
  // PyTorch divides a number by a tensor as number * reciprocal.
  result.global = type(2688.0F * type(1.0F / amax));
  if (!std::isfinite(result.global)) result.global = 1.0F;
  for (int64_t r = 0; r < w.rows; ++r) {
    for (int64_t col = 0; col < w.cols; col += 16) {
      const float sixth = type(block_amax(w, r, 1, col, 16) / 6.0F);
      uint8_t code = e4m3_code(result.global * sixth);
      if ((code & 0x7F) == 0) code = 0x20;  // 1/8
      result.scale_bytes.push_back(code);
      const float step = static_cast<float>(e4m3_value(code)) / result.global;
      for (int64_t c = col; c < col + 16; ++c) {
        const float scaled = static_cast<float>(w.at(r, c)) / step;
        put_nibble(result.codes, static_cast<size_t>(r * w.cols + c), ct_e2m1_code(scaled));
      }
    }
  }
  return result;
}

// The exponent is that of amax, one more from a significand of 1.75 on, less 2 (FP4) or 8 (FP8); a
// block without a normal number has exponent code 0, 2^-127.
inline Packed ct_mx(const Matrix& w, Rounding type, bool fp4) {
  Packed result;
  result.codes.assign(fp4 ? w.values.size() / 2 : w.values.size(), 0);
  for (int64_t r = 0; r < w.rows; ++r) {
    for (int64_t col = 0; col < w.cols; col += 32) {
      const float amax = block_amax(w, r, 1, col, 32);
      int exponent = -127;
      if (amax >= std::numeric_limits<float>::min())
        exponent = std::max(mx_exponent(amax, fp4, MxRule::kRound), -127);
      result.scale_bytes.push_back(static_cast<uint8_t>(exponent + 127));
      for (int64_t c = col; c < col + 32; ++c) {
        const auto at = static_cast<size_t>(r * w.cols + c);
        const float scaled = type(static_cast<float>(std::ldexp(w.at(r, c), -exponent)));
        if (fp4) {
          put_nibble(result.codes, at, ct_e2m1_code(scaled));
        } else {
          result.codes[at] = e4m3_code_or_nan(scaled);
        }
      }
    }
  }
  return result;
}

// ---- ModelOpt 0.47

// Not clamped: above 464 there is no E4M3 number.
inline uint8_t mo_e4m3_code(float x) {
  if (std::isnan(x) || std::fabs(x) > 464.0F)
    return static_cast<uint8_t>(0x7F | (std::signbit(x) ? 0x80 : 0));
  return e4m3_code(x);
}

// A scale under a whole matrix has no dimension, so that quotients keep the weight's dtype.
inline Packed mo_fp8_tensor(const Matrix& w, Rounding type) {
  Packed result;
  const float scale = block_amax(w, 0, w.rows, 0, w.cols) / 448.0F;
  result.scales = {scale};
  for (const double x : w.values)
    result.codes.push_back(mo_e4m3_code(type(static_cast<float>(x) / scale)));
  return result;
}

inline Packed mo_fp8_channel(const Matrix& w) {
  Packed result;
  for (int64_t r = 0; r < w.rows; ++r) {
    const float scale = block_amax(w, r, 1, 0, w.cols) / 448.0F;
    result.scales.push_back(scale);
    for (int64_t c = 0; c < w.cols; ++c)
      result.codes.push_back(mo_e4m3_code(static_cast<float>(w.at(r, c)) / scale));
  }
  return result;
}

// Scales have the weight's dtype.
inline Packed mo_fp8_block(const Matrix& w, Rounding type) {
  Packed result;
  result.codes.resize(w.values.size());
  for (int64_t row = 0; row < w.rows; row += 128) {
    for (int64_t col = 0; col < w.cols; col += 128) {
      const float scale = type(block_amax(w, row, 128, col, 128) / 448.0F);
      result.scales.push_back(scale);
      for (int64_t r = row; r < std::min(row + 128, w.rows); ++r) {
        for (int64_t c = col; c < std::min(col + 128, w.cols); ++c) {
          const float scaled = type(static_cast<float>(w.at(r, c)) / scale);
          result.codes[static_cast<size_t>(r * w.cols + c)] = mo_e4m3_code(scaled);
        }
      }
    }
  }
  return result;
}

// global: a multiplier. The block scale is amax / (6 * global), 1 for a block of zeros (NaN when
// the whole matrix is zero), at least 2^-9. -0 loses its sign; a NaN quotient has the largest code.
inline Packed mo_nvfp4(const Matrix& w) {
  Packed result;
  result.codes.assign(w.values.size() / 2, 0);
  result.global = block_amax(w, 0, w.rows, 0, w.cols) / 2688.0F;
  for (int64_t r = 0; r < w.rows; ++r) {
    for (int64_t col = 0; col < w.cols; col += 16) {
      float scale = block_amax(w, r, 1, col, 16) / (6.0F * result.global);
      if (scale == 0.0F) scale = 1.0F;
      const uint8_t code =
          std::isnan(scale) ? uint8_t{0xFF} : e4m3_code(std::max(scale, std::ldexp(1.0F, -9)));
      result.scale_bytes.push_back(code);
      const float value = code == 0xFF ? std::nanf("") : static_cast<float>(e4m3_value(code));
      for (int64_t c = col; c < col + 16; ++c) {
        const float scaled = static_cast<float>(w.at(r, c)) / (value * result.global);
        const int magnitude = std::isnan(scaled) ? 7 : e2m1_code(std::fabs(scaled)) & 7;
        put_nibble(
            result.codes, static_cast<size_t>(r * w.cols + c), magnitude | (scaled < 0 ? 8 : 0)
        );
      }
    }
  }
  return result;
}

// The exponent is ceil(log2(amax / 448)), from a float32 logarithm; -127 for a block of zeros.
inline Packed mo_mxfp8(const Matrix& w) {
  Packed result;
  result.codes.resize(w.values.size());
  for (int64_t r = 0; r < w.rows; ++r) {
    for (int64_t col = 0; col < w.cols; col += 32) {
      const float ratio = block_amax(w, r, 1, col, 32) / 448.0F;
      const float exponent =
          ratio > 0 ? std::clamp(std::ceil(std::log2(ratio)), -127.0F, 127.0F) : -127.0F;
      result.scale_bytes.push_back(static_cast<uint8_t>(exponent + 127.0F));
      for (int64_t c = col; c < col + 32; ++c) {
        const auto scaled = static_cast<float>(std::ldexp(w.at(r, c), -static_cast<int>(exponent)));
        result.codes[static_cast<size_t>(r * w.cols + c)] = e4m3_code_or_nan(scaled);
      }
    }
  }
  return result;
}

}  // namespace hone::reference
