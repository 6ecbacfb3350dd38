// Sixteen lanes of float32 or int32, the same on AVX2 (two registers) and AVX-512 (one): every
// operation gives bit-identical results on both.
//
// A source that includes this header is listed with hone_isa_sources() and compiled once for each
// ISA; it puts everything into namespace hone::HONE_ISA (hone::avx2 or hone::avx512), and callers
// choose with core/device/cpu_isa.h. Elsewhere HONE_ISA is avx2, the floor of the build. Such
// sources must not instantiate inline functions of other headers that are not forced inline
// (HONE_HD): the linker may keep the copy compiled for the wider ISA.
//
// Nothing is fused or reordered: a * b + c rounds twice, fma(a, b, c) once.
// max(a, b) and min(a, b) return b when either is NaN or both are zeros (as the instructions do).
//
// Contents (simd_avx2.h and simd_avx512.h hold the two versions of each):
//   f32x16  set1 zero load store load_partial store_partial gather + - * / fma fnma max min sqrt
//           abs round_even floor pow2 hsum hmax
//   i32x16  set1_i32 load_i32 store_i32 + - * & | ^ max min shl<n> shr<n> sar<n> hmax
//   mask16  less less_equal equal greater is_nan & | ! bits select
//   between as_i32 as_f32 (bits) to_f32 to_i32 (values) lookup16 low_half high_half combine
//   u8x16, u16x16  load_u8 store_u8 load_u16 store_u16 widen_* narrow_* from_f16 to_f16
// Number formats in registers: core/format/simd_codes.h.
#pragma once

#include "core/device/simd_avx2.h"
#include "core/device/simd_avx512.h"
#include "core/device/simd_isa.h"

namespace hone::HONE_ISA {

HONE_SIMD f32x16 zero() {
  return set1(0.0F);
}
HONE_SIMD f32x16 abs(f32x16 a) {
  return as_f32(as_i32(a) & set1_i32(0x7FFFFFFF));
}
HONE_SIMD f32x16 operator-(f32x16 a) {
  return as_f32(as_i32(a) ^ set1_i32(INT32_MIN));
}
// 2^n by lane for n in -126..127 (integers).
HONE_SIMD f32x16 pow2(i32x16 n) {
  return as_f32(shl<23>(n + set1_i32(127)));
}

HONE_SIMD u8x16 load_u8(const void* p) {
  return {_mm_loadu_si128(static_cast<const __m128i*>(p))};
}
HONE_SIMD void store_u8(void* p, u8x16 a) {
  _mm_storeu_si128(static_cast<__m128i*>(p), a.v);
}
HONE_SIMD u16x16 load_u16(const void* p) {
  return {_mm256_loadu_si256(static_cast<const __m256i*>(p))};
}
HONE_SIMD void store_u16(void* p, u16x16 a) {
  _mm256_storeu_si256(static_cast<__m256i*>(p), a.v);
}
HONE_SIMD void prefetch(const void* p) {
  _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0);
}

// The sum of the lanes in one fixed tree: lanes i and i + 8, then i + 4, i + 2, i + 1.
HONE_SIMD float hsum(f32x16 a) {
  const __m256 s8 = _mm256_add_ps(low_half(a), high_half(a));
  const __m128 s4 = _mm_add_ps(_mm256_castps256_ps128(s8), _mm256_extractf128_ps(s8, 1));
  const __m128 s2 = _mm_add_ps(s4, _mm_movehl_ps(s4, s4));
  return _mm_cvtss_f32(_mm_add_ss(s2, _mm_movehdup_ps(s2)));
}
// The largest lane, in the same tree; lanes must not be NaN.
HONE_SIMD float hmax(f32x16 a) {
  const __m256 s8 = _mm256_max_ps(low_half(a), high_half(a));
  const __m128 s4 = _mm_max_ps(_mm256_castps256_ps128(s8), _mm256_extractf128_ps(s8, 1));
  const __m128 s2 = _mm_max_ps(s4, _mm_movehl_ps(s4, s4));
  return _mm_cvtss_f32(_mm_max_ss(s2, _mm_movehdup_ps(s2)));
}
HONE_SIMD int32_t hmax(i32x16 a) {
  const __m256i lo = _mm256_castps_si256(low_half(as_f32(a)));
  const __m256i hi = _mm256_castps_si256(high_half(as_f32(a)));
  const __m256i s8 = _mm256_max_epi32(lo, hi);
  const __m128i s4 = _mm_max_epi32(_mm256_castsi256_si128(s8), _mm256_extracti128_si256(s8, 1));
  const __m128i s2 = _mm_max_epi32(s4, _mm_unpackhi_epi64(s4, s4));
  return _mm_cvtsi128_si32(_mm_max_epi32(s2, _mm_shuffle_epi32(s2, 1)));
}

}  // namespace hone::HONE_ISA
