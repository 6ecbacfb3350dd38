// The AVX2 half of core/device/simd.h: sixteen lanes in two registers. Include core/device/simd.h
// instead.
#pragma once

#include "core/device/simd_isa.h"

#if HONE_ISA_WIDTH(HONE_ISA) == 2

namespace hone::HONE_ISA {

struct f32x16 {
  __m256 lo;
  __m256 hi;
};
struct i32x16 {
  __m256i lo;
  __m256i hi;
};
struct mask16 {
  __m256 lo;
  __m256 hi;
};

HONE_SIMD f32x16 set1(float x) {
  return {_mm256_set1_ps(x), _mm256_set1_ps(x)};
}
HONE_SIMD f32x16 load(const float* p) {
  return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)};
}
HONE_SIMD void store(float* p, f32x16 a) {
  _mm256_storeu_ps(p, a.lo);
  _mm256_storeu_ps(p + 8, a.hi);
}
HONE_SIMD i32x16 partial_mask(int64_t n) {
  const __m256i count = _mm256_set1_epi32(static_cast<int>(n));
  return {
      _mm256_cmpgt_epi32(count, _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)),
      _mm256_cmpgt_epi32(count, _mm256_setr_epi32(8, 9, 10, 11, 12, 13, 14, 15))};
}
HONE_SIMD f32x16 load_partial(const float* p, int64_t n) {
  const i32x16 mask = partial_mask(n);
  return {_mm256_maskload_ps(p, mask.lo), _mm256_maskload_ps(p + 8, mask.hi)};
}
HONE_SIMD void store_partial(float* p, int64_t n, f32x16 a) {
  const i32x16 mask = partial_mask(n);
  _mm256_maskstore_ps(p, mask.lo, a.lo);
  _mm256_maskstore_ps(p + 8, mask.hi, a.hi);
}
HONE_SIMD f32x16 gather(const float* p, i32x16 index) {
  return {_mm256_i32gather_ps(p, index.lo, 4), _mm256_i32gather_ps(p, index.hi, 4)};
}

// Both halves through the same instruction.
#define HONE_HALVES_1(name, intrinsic, R, A)   \
  HONE_SIMD R name(A a) {                      \
    return {intrinsic(a.lo), intrinsic(a.hi)}; \
  }
#define HONE_HALVES_2(name, intrinsic, R, A)               \
  HONE_SIMD R name(A a, A b) {                             \
    return {intrinsic(a.lo, b.lo), intrinsic(a.hi, b.hi)}; \
  }
#define HONE_HALVES_3(name, intrinsic, R, A)                           \
  HONE_SIMD R name(A a, A b, A c) {                                    \
    return {intrinsic(a.lo, b.lo, c.lo), intrinsic(a.hi, b.hi, c.hi)}; \
  }
#define HONE_HALVES_SHIFT(name, intrinsic)                   \
  template <int kBits>                                       \
  HONE_SIMD i32x16 name(i32x16 a) {                          \
    return {intrinsic(a.lo, kBits), intrinsic(a.hi, kBits)}; \
  }
#define HONE_HALVES_COMPARE(name, predicate)                                             \
  HONE_SIMD mask16 name(f32x16 a, f32x16 b) {                                            \
    return {_mm256_cmp_ps(a.lo, b.lo, predicate), _mm256_cmp_ps(a.hi, b.hi, predicate)}; \
  }

HONE_HALVES_2(operator+, _mm256_add_ps, f32x16, f32x16)
HONE_HALVES_2(operator-, _mm256_sub_ps, f32x16, f32x16)
HONE_HALVES_2(operator*, _mm256_mul_ps, f32x16, f32x16)
HONE_HALVES_2(operator/, _mm256_div_ps, f32x16, f32x16)
HONE_HALVES_3(fma, _mm256_fmadd_ps, f32x16, f32x16)
HONE_HALVES_3(fnma, _mm256_fnmadd_ps, f32x16, f32x16)
HONE_HALVES_2(max, _mm256_max_ps, f32x16, f32x16)
HONE_HALVES_2(min, _mm256_min_ps, f32x16, f32x16)
HONE_HALVES_1(sqrt, _mm256_sqrt_ps, f32x16, f32x16)
HONE_SIMD f32x16 round_even(f32x16 a) {
  return {_mm256_round_ps(a.lo, 0x08), _mm256_round_ps(a.hi, 0x08)};
}
HONE_SIMD f32x16 floor(f32x16 a) {
  return {_mm256_round_ps(a.lo, 0x09), _mm256_round_ps(a.hi, 0x09)};
}

HONE_SIMD i32x16 set1_i32(int32_t x) {
  return {_mm256_set1_epi32(x), _mm256_set1_epi32(x)};
}
HONE_SIMD i32x16 load_i32(const int32_t* p) {
  return {
      _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)),
      _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 8))};
}
HONE_SIMD void store_i32(int32_t* p, i32x16 a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), a.lo);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p + 8), a.hi);
}
HONE_HALVES_2(operator+, _mm256_add_epi32, i32x16, i32x16)
HONE_HALVES_2(operator-, _mm256_sub_epi32, i32x16, i32x16)
HONE_HALVES_2(operator*, _mm256_mullo_epi32, i32x16, i32x16)
HONE_HALVES_2(operator&, _mm256_and_si256, i32x16, i32x16)
HONE_HALVES_2(operator|, _mm256_or_si256, i32x16, i32x16)
HONE_HALVES_2(operator^, _mm256_xor_si256, i32x16, i32x16)
HONE_HALVES_2(max, _mm256_max_epi32, i32x16, i32x16)
HONE_HALVES_2(min, _mm256_min_epi32, i32x16, i32x16)
HONE_HALVES_SHIFT(shl, _mm256_slli_epi32)
HONE_HALVES_SHIFT(shr, _mm256_srli_epi32)
HONE_HALVES_SHIFT(sar, _mm256_srai_epi32)
HONE_HALVES_1(as_i32, _mm256_castps_si256, i32x16, f32x16)
HONE_HALVES_1(as_f32, _mm256_castsi256_ps, f32x16, i32x16)
HONE_HALVES_1(to_f32, _mm256_cvtepi32_ps, f32x16, i32x16)
HONE_HALVES_1(to_i32, _mm256_cvtps_epi32, i32x16, f32x16)

HONE_HALVES_COMPARE(less, _CMP_LT_OQ)
HONE_HALVES_COMPARE(less_equal, _CMP_LE_OQ)
HONE_HALVES_COMPARE(equal, _CMP_EQ_OQ)
HONE_SIMD mask16 is_nan(f32x16 a) {
  return {_mm256_cmp_ps(a.lo, a.lo, _CMP_UNORD_Q), _mm256_cmp_ps(a.hi, a.hi, _CMP_UNORD_Q)};
}
HONE_SIMD mask16 greater(i32x16 a, i32x16 b) {
  return {
      _mm256_castsi256_ps(_mm256_cmpgt_epi32(a.lo, b.lo)),
      _mm256_castsi256_ps(_mm256_cmpgt_epi32(a.hi, b.hi))};
}
HONE_SIMD mask16 equal(i32x16 a, i32x16 b) {
  return {
      _mm256_castsi256_ps(_mm256_cmpeq_epi32(a.lo, b.lo)),
      _mm256_castsi256_ps(_mm256_cmpeq_epi32(a.hi, b.hi))};
}
HONE_HALVES_2(operator&, _mm256_and_ps, mask16, mask16)
HONE_HALVES_2(operator|, _mm256_or_ps, mask16, mask16)
HONE_SIMD mask16 operator!(mask16 a) {
  const __m256 ones = _mm256_castsi256_ps(_mm256_set1_epi32(-1));
  return {_mm256_xor_ps(a.lo, ones), _mm256_xor_ps(a.hi, ones)};
}
HONE_SIMD uint32_t bits(mask16 a) {
  return static_cast<uint32_t>(_mm256_movemask_ps(a.lo)) |
         static_cast<uint32_t>(_mm256_movemask_ps(a.hi)) << 8;
}
HONE_SIMD f32x16 select(mask16 m, f32x16 yes, f32x16 no) {
  return {_mm256_blendv_ps(no.lo, yes.lo, m.lo), _mm256_blendv_ps(no.hi, yes.hi, m.hi)};
}
HONE_SIMD i32x16 select(mask16 m, i32x16 yes, i32x16 no) {
  return as_i32(select(m, as_f32(yes), as_f32(no)));
}

HONE_SIMD f32x16 lookup16(f32x16 table, i32x16 index) {
  // The instruction looks at the low three bits; bit 3 chooses between the halves as a sign bit.
  const f32x16 low = {
      _mm256_permutevar8x32_ps(table.lo, index.lo), _mm256_permutevar8x32_ps(table.lo, index.hi)};
  const f32x16 high = {
      _mm256_permutevar8x32_ps(table.hi, index.lo), _mm256_permutevar8x32_ps(table.hi, index.hi)};
  const f32x16 chosen = as_f32(shl<28>(index));
  return select({chosen.lo, chosen.hi}, high, low);
}
HONE_SIMD __m256 low_half(f32x16 a) {
  return a.lo;
}
HONE_SIMD __m256 high_half(f32x16 a) {
  return a.hi;
}
HONE_SIMD f32x16 combine(__m256 low, __m256 high) {
  return {low, high};
}

HONE_SIMD i32x16 widen_u8(u8x16 a) {
  return {_mm256_cvtepu8_epi32(a.v), _mm256_cvtepu8_epi32(_mm_srli_si128(a.v, 8))};
}
HONE_SIMD i32x16 widen_i8(u8x16 a) {
  return {_mm256_cvtepi8_epi32(a.v), _mm256_cvtepi8_epi32(_mm_srli_si128(a.v, 8))};
}
HONE_SIMD i32x16 widen_u16(u16x16 a) {
  return {
      _mm256_cvtepu16_epi32(_mm256_castsi256_si128(a.v)),
      _mm256_cvtepu16_epi32(_mm256_extracti128_si256(a.v, 1))};
}
HONE_SIMD u16x16 narrow_u16(i32x16 a) {
  return {_mm256_permute4x64_epi64(_mm256_packus_epi32(a.lo, a.hi), 0xD8)};
}
HONE_SIMD u8x16 narrow_u8(i32x16 a) {
  const __m256i words = narrow_u16(a).v;
  return {_mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1))};
}
HONE_SIMD f32x16 from_f16(u16x16 a) {
  return {
      _mm256_cvtph_ps(_mm256_castsi256_si128(a.v)),
      _mm256_cvtph_ps(_mm256_extracti128_si256(a.v, 1))};
}
HONE_SIMD u16x16 to_f16(f32x16 a) {
  return {_mm256_set_m128i(
      _mm256_cvtps_ph(a.hi, _MM_FROUND_TO_NEAREST_INT),
      _mm256_cvtps_ph(a.lo, _MM_FROUND_TO_NEAREST_INT)
  )};
}

#undef HONE_HALVES_1
#undef HONE_HALVES_2
#undef HONE_HALVES_3
#undef HONE_HALVES_SHIFT
#undef HONE_HALVES_COMPARE

}  // namespace hone::HONE_ISA

#endif
