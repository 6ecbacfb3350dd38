// The AVX-512 half of core/device/simd.h: sixteen lanes in one register. Include core/device/simd.h
// instead.
#pragma once

#include "core/device/simd_isa.h"

#if HONE_ISA_WIDTH(HONE_ISA) == 512

namespace hone::HONE_ISA {

struct f32x16 {
  __m512 v;
};
struct i32x16 {
  __m512i v;
};
struct mask16 {
  __mmask16 v;
};

HONE_SIMD f32x16 set1(float x) {
  return {_mm512_set1_ps(x)};
}
HONE_SIMD f32x16 load(const float* p) {
  return {_mm512_loadu_ps(p)};
}
HONE_SIMD void store(float* p, f32x16 a) {
  _mm512_storeu_ps(p, a.v);
}
// The first n lanes (0 <= n <= 16); the others read as +0 and are not touched by stores.
HONE_SIMD f32x16 load_partial(const float* p, int64_t n) {
  return {_mm512_maskz_loadu_ps(static_cast<__mmask16>((1U << n) - 1U), p)};
}
HONE_SIMD void store_partial(float* p, int64_t n, f32x16 a) {
  _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1U << n) - 1U), a.v);
}
// Lanes p[index].
HONE_SIMD f32x16 gather(const float* p, i32x16 index) {
  return {_mm512_i32gather_ps(index.v, p, 4)};
}
HONE_SIMD f32x16 operator+(f32x16 a, f32x16 b) {
  return {_mm512_add_ps(a.v, b.v)};
}
HONE_SIMD f32x16 operator-(f32x16 a, f32x16 b) {
  return {_mm512_sub_ps(a.v, b.v)};
}
HONE_SIMD f32x16 operator*(f32x16 a, f32x16 b) {
  return {_mm512_mul_ps(a.v, b.v)};
}
HONE_SIMD f32x16 operator/(f32x16 a, f32x16 b) {
  return {_mm512_div_ps(a.v, b.v)};
}
// a * b + c and c - a * b, rounded once.
HONE_SIMD f32x16 fma(f32x16 a, f32x16 b, f32x16 c) {
  return {_mm512_fmadd_ps(a.v, b.v, c.v)};
}
HONE_SIMD f32x16 fnma(f32x16 a, f32x16 b, f32x16 c) {
  return {_mm512_fnmadd_ps(a.v, b.v, c.v)};
}
HONE_SIMD f32x16 max(f32x16 a, f32x16 b) {
  return {_mm512_max_ps(a.v, b.v)};
}
HONE_SIMD f32x16 min(f32x16 a, f32x16 b) {
  return {_mm512_min_ps(a.v, b.v)};
}
HONE_SIMD f32x16 sqrt(f32x16 a) {
  return {_mm512_sqrt_ps(a.v)};
}
// To an integer: nearest with ties to even, and downwards.
HONE_SIMD f32x16 round_even(f32x16 a) {
  return {_mm512_roundscale_ps(a.v, 0x08)};
}
HONE_SIMD f32x16 floor(f32x16 a) {
  return {_mm512_roundscale_ps(a.v, 0x09)};
}

HONE_SIMD i32x16 set1_i32(int32_t x) {
  return {_mm512_set1_epi32(x)};
}
HONE_SIMD i32x16 load_i32(const int32_t* p) {
  return {_mm512_loadu_si512(p)};
}
HONE_SIMD void store_i32(int32_t* p, i32x16 a) {
  _mm512_storeu_si512(p, a.v);
}
HONE_SIMD i32x16 operator+(i32x16 a, i32x16 b) {
  return {_mm512_add_epi32(a.v, b.v)};
}
HONE_SIMD i32x16 operator-(i32x16 a, i32x16 b) {
  return {_mm512_sub_epi32(a.v, b.v)};
}
// Low 32 bits of the product.
HONE_SIMD i32x16 operator*(i32x16 a, i32x16 b) {
  return {_mm512_mullo_epi32(a.v, b.v)};
}
HONE_SIMD i32x16 operator&(i32x16 a, i32x16 b) {
  return {_mm512_and_si512(a.v, b.v)};
}
HONE_SIMD i32x16 operator|(i32x16 a, i32x16 b) {
  return {_mm512_or_si512(a.v, b.v)};
}
HONE_SIMD i32x16 operator^(i32x16 a, i32x16 b) {
  return {_mm512_xor_si512(a.v, b.v)};
}
HONE_SIMD i32x16 max(i32x16 a, i32x16 b) {
  return {_mm512_max_epi32(a.v, b.v)};
}
HONE_SIMD i32x16 min(i32x16 a, i32x16 b) {
  return {_mm512_min_epi32(a.v, b.v)};
}
// Shifts by a constant: left, right with zeros, right with the sign.
template <int kBits>
HONE_SIMD i32x16 shl(i32x16 a) {
  return {_mm512_slli_epi32(a.v, kBits)};
}
template <int kBits>
HONE_SIMD i32x16 shr(i32x16 a) {
  return {_mm512_srli_epi32(a.v, kBits)};
}
template <int kBits>
HONE_SIMD i32x16 sar(i32x16 a) {
  return {_mm512_srai_epi32(a.v, kBits)};
}
// Bits unchanged.
HONE_SIMD i32x16 as_i32(f32x16 a) {
  return {_mm512_castps_si512(a.v)};
}
HONE_SIMD f32x16 as_f32(i32x16 a) {
  return {_mm512_castsi512_ps(a.v)};
}
// Values converted; to_i32 rounds to nearest even, out of range gives INT32_MIN.
HONE_SIMD f32x16 to_f32(i32x16 a) {
  return {_mm512_cvtepi32_ps(a.v)};
}
HONE_SIMD i32x16 to_i32(f32x16 a) {
  return {_mm512_cvtps_epi32(a.v)};
}

// Ordered comparisons (false for NaN); is_nan.
HONE_SIMD mask16 less(f32x16 a, f32x16 b) {
  return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ)};
}
HONE_SIMD mask16 less_equal(f32x16 a, f32x16 b) {
  return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_LE_OQ)};
}
HONE_SIMD mask16 equal(f32x16 a, f32x16 b) {
  return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_EQ_OQ)};
}
HONE_SIMD mask16 is_nan(f32x16 a) {
  return {_mm512_cmp_ps_mask(a.v, a.v, _CMP_UNORD_Q)};
}
HONE_SIMD mask16 greater(i32x16 a, i32x16 b) {
  return {_mm512_cmpgt_epi32_mask(a.v, b.v)};
}
HONE_SIMD mask16 equal(i32x16 a, i32x16 b) {
  return {_mm512_cmpeq_epi32_mask(a.v, b.v)};
}
HONE_SIMD mask16 operator&(mask16 a, mask16 b) {
  return {_kand_mask16(a.v, b.v)};
}
HONE_SIMD mask16 operator|(mask16 a, mask16 b) {
  return {_kor_mask16(a.v, b.v)};
}
HONE_SIMD mask16 operator!(mask16 a) {
  return {_knot_mask16(a.v)};
}
// Bit i tells of lane i.
HONE_SIMD uint32_t bits(mask16 a) {
  return a.v;
}
// yes where the mask is set, no elsewhere.
HONE_SIMD f32x16 select(mask16 m, f32x16 yes, f32x16 no) {
  return {_mm512_mask_blend_ps(m.v, no.v, yes.v)};
}
HONE_SIMD i32x16 select(mask16 m, i32x16 yes, i32x16 no) {
  return {_mm512_mask_blend_epi32(m.v, no.v, yes.v)};
}

// table[index & 15] by lane; table: 16 floats.
HONE_SIMD f32x16 lookup16(f32x16 table, i32x16 index) {
  return {_mm512_permutexvar_ps(index.v, table.v)};
}
// Lanes 0..7 and 8..15 as AVX registers.
HONE_SIMD __m256 low_half(f32x16 a) {
  return _mm512_castps512_ps256(a.v);
}
HONE_SIMD __m256 high_half(f32x16 a) {
  return _mm512_extractf32x8_ps(a.v, 1);
}
HONE_SIMD f32x16 combine(__m256 low, __m256 high) {
  return {_mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1)};
}

HONE_SIMD i32x16 widen_u8(u8x16 a) {
  return {_mm512_cvtepu8_epi32(a.v)};
}
HONE_SIMD i32x16 widen_i8(u8x16 a) {
  return {_mm512_cvtepi8_epi32(a.v)};
}
HONE_SIMD i32x16 widen_u16(u16x16 a) {
  return {_mm512_cvtepu16_epi32(a.v)};
}
// Lanes must be in 0..255 and 0..65535.
HONE_SIMD u8x16 narrow_u8(i32x16 a) {
  return {_mm512_cvtepi32_epi8(a.v)};
}
HONE_SIMD u16x16 narrow_u16(i32x16 a) {
  return {_mm512_cvtepi32_epi16(a.v)};
}
// IEEE binary16; to_f16 rounds to nearest even.
HONE_SIMD f32x16 from_f16(u16x16 a) {
  return {_mm512_cvtph_ps(a.v)};
}
HONE_SIMD u16x16 to_f16(f32x16 a) {
  return {_mm512_cvtps_ph(a.v, _MM_FROUND_TO_NEAREST_INT)};
}

}  // namespace hone::HONE_ISA

#endif
