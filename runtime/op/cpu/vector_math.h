// exp for sixteen lanes; see runtime/op/exp.h for its definition and error.
// For sources of hone_isa_sources().
#pragma once

#include <cstdint>

#include "core/device/simd.h"

namespace hone::HONE_ISA {

inline constexpr float kNegativeInfinity = -__builtin_inff();

HONE_SIMD f32x16 exp(f32x16 x) {
  // Outside, the result is infinite or zero anyway. NaN passes both.
  const f32x16 clamped = min(set1(89.0F), max(set1(-105.0F), x));
  const f32x16 n = round_even(clamped * set1(0x1.715476p0F));
  // ln 2 in two parts; the first has 17 bits, so that its product with n, and `high`, are exact.
  const f32x16 high = fnma(n, set1(0x1.62e4p-1F), clamped);
  const f32x16 low = n * set1(0x1.7f7d1cp-20F);
  const f32x16 r = high - low;
  // (exp(r) - 1 - r) / r^2 on |r| <= ln 2 / 2, minimax by Lawson's iteration: relative error of
  // exp(r) below 3.1e-9.
  f32x16 p = fma(set1(0x1.6a23d0p-10F), r, set1(0x1.123a20p-7F));
  p = fma(p, r, set1(0x1.5558f2p-5F));
  p = fma(p, r, set1(0x1.555492p-3F));
  p = fma(p, r, set1(0x1.fffffcp-2F));
  // high goes in unrounded, which r is not.
  const f32x16 y = set1(1.0F) + (high + fma(r * r, p, -low));
  // 2^n in two factors, since n reaches 128 and -151.
  const i32x16 whole = to_i32(n);
  const i32x16 half = sar<1>(whole);
  return y * pow2(half) * pow2(whole - half);
}

// The first n lanes of p, `fill` in the others.
HONE_SIMD f32x16 load_filled(const float* p, int64_t n, float fill) {
  alignas(64) float lanes[16];
  for (int i = 0; i < 16; ++i) lanes[i] = fill;
  for (int64_t i = 0; i < n; ++i) lanes[i] = p[i];
  return load(lanes);
}

}  // namespace hone::HONE_ISA
