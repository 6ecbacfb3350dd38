// The scalar codecs of bf16.h, f16.h, fp8.h and fp4.h for sixteen lanes in registers, bit for bit.
//
// For sources of hone_isa_sources(); see core/device/simd.h.
#pragma once

#include <cstdint>

#include "core/device/simd.h"

namespace hone::HONE_ISA {

// ---- decoding

HONE_SIMD f32x16 from_bf16(u16x16 codes) {
  return as_f32(shl<16>(widen_u16(codes)));
}

// E4M3 where NaN codes cannot occur: 0x7F and 0xFF decode as +-480.
HONE_SIMD f32x16 from_e4m3_finite(u8x16 codes) {
  // As the bits of an F16 the code reads 2^-8 of its value, subnormals included.
  const __m256i wide = _mm256_slli_epi16(_mm256_cvtepi8_epi16(codes.v), 7);
  const __m256i f16 = _mm256_and_si256(wide, _mm256_set1_epi16(static_cast<int16_t>(0xBF80)));
  return from_f16({f16}) * set1(256.0F);
}

HONE_SIMD f32x16 from_e4m3(u8x16 codes) {
  const f32x16 value = from_e4m3_finite(codes);
  const i32x16 quiet = set1_i32(0x7FC00000) | (as_i32(value) & set1_i32(INT32_MIN));
  return select(equal(abs(value), set1(480.0F)), as_f32(quiet), value);
}

HONE_SIMD f32x16 from_e5m2(u8x16 codes) {
  return from_f16({_mm256_slli_epi16(_mm256_cvtepu8_epi16(codes.v), 8)});
}

// The sixteen E2M1 codes of eight packed bytes, low nibbles first, one in a byte.
HONE_SIMD u8x16 unpack_nibbles(const void* packed) {
  const __m128i bytes = _mm_loadl_epi64(static_cast<const __m128i*>(packed));
  const __m128i low = _mm_set1_epi8(0xF);
  return {
      _mm_unpacklo_epi8(_mm_and_si128(bytes, low), _mm_and_si128(_mm_srli_epi16(bytes, 4), low))};
}

// One E2M1 code (0..15) in a byte.
HONE_SIMD f32x16 from_e2m1(u8x16 codes) {
  const __m256 magnitude = _mm256_setr_ps(0.0F, 0.5F, 1.0F, 1.5F, 2.0F, 3.0F, 4.0F, 6.0F);
  const f32x16 table = combine(magnitude, _mm256_xor_ps(magnitude, _mm256_set1_ps(-0.0F)));
  return lookup16(table, widen_u8(codes));
}

// Twice the value of each code as int8: 0, 1, 2, 3, 4, 6, 8, 12 and their negatives. -0 becomes 0.
// For products that stay in small integers.
HONE_SIMD u8x16 e2m1_doubled(u8x16 codes) {
  const __m128i table = _mm_setr_epi8(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12);
  return {_mm_shuffle_epi8(table, codes.v)};
}

HONE_SIMD f32x16 load_bf16(const void* p) {
  return from_bf16(load_u16(p));
}
HONE_SIMD f32x16 load_f16(const void* p) {
  return from_f16(load_u16(p));
}
HONE_SIMD f32x16 load_e4m3(const void* p) {
  return from_e4m3(load_u8(p));
}
HONE_SIMD f32x16 load_e4m3_finite(const void* p) {
  return from_e4m3_finite(load_u8(p));
}
HONE_SIMD f32x16 load_e5m2(const void* p) {
  return from_e5m2(load_u8(p));
}
// Eight packed bytes.
HONE_SIMD f32x16 load_e2m1(const void* p) {
  return from_e2m1(unpack_nibbles(p));
}

// ---- encoding: nearest, ties to even

// Adds half a unit of the last kept place (bit kDrop) with ties to even, on positive float bits.
template <int kDrop>
HONE_SIMD i32x16 round_bits(i32x16 a) {
  const i32x16 last = shr<kDrop>(a) & set1_i32(1);
  return a + set1_i32((1 << (kDrop - 1)) - 1) + last;
}

HONE_SIMD u16x16 to_bf16(f32x16 x) {
  const i32x16 all = as_i32(x);
  const i32x16 rounded = shr<16>(round_bits<16>(all));
  const i32x16 nan = shr<16>(all) | set1_i32(0x40);
  return narrow_u16(select(is_nan(x), nan, rounded));
}

// Sign bits and magnitude clamped to `limit` (float bits); NaN keeps a magnitude above infinity.
struct SignMagnitude {
  i32x16 sign;
  i32x16 magnitude;
};
HONE_SIMD SignMagnitude split_sign(f32x16 x) {
  const i32x16 all = as_i32(x);
  return {all & set1_i32(INT32_MIN), all & set1_i32(0x7FFFFFFF)};
}

// e4m3_encode; one code in the low byte of each lane.
HONE_SIMD i32x16 e4m3_codes(f32x16 x) {
  const SignMagnitude parts = split_sign(x);
  const i32x16 a = min(parts.magnitude, set1_i32(0x43E00000));
  const i32x16 normal = shr<20>(round_bits<20>(a)) - set1_i32(120 << 3);
  const i32x16 small = as_i32(as_f32(a) + set1(16384.0F)) - set1_i32(0x46800000);
  const i32x16 code = select(greater(set1_i32(0x3C800000), a), small, normal);
  const mask16 nan = greater(parts.magnitude, set1_i32(0x7F800000));
  return shr<24>(parts.sign) | select(nan, set1_i32(0x7F), code);
}
HONE_SIMD u8x16 to_e4m3(f32x16 x) {
  return narrow_u8(e4m3_codes(x));
}

// e4m3_encode(256 x) where x is not NaN: an F16 read as an E4M3 code is 2^-8 of its value, so that
// what is rounded to three mantissa bits (or to units of 2^-17) only has to be converted.
HONE_SIMD u8x16 to_e4m3_of_256th(f32x16 x) {
  const f32x16 a = min(abs(x), set1(1.75F));
  // Adding 2^20 times the power of two below (at least 2^-14) leaves three mantissa bits.
  const i32x16 power = max(as_i32(a) & set1_i32(0x7F800000), set1_i32((127 - 14) << 23));
  const f32x16 magic = as_f32(power + set1_i32(20 << 23));
  const i32x16 sign = as_i32(x) & set1_i32(INT32_MIN);
  const __m256i half = to_f16(as_f32(as_i32((a + magic) - magic) | sign)).v;
  const __m256i low = _mm256_and_si256(_mm256_srli_epi16(half, 7), _mm256_set1_epi16(0x7F));
  const __m256i high = _mm256_and_si256(_mm256_srli_epi16(half, 8), _mm256_set1_epi16(0x80));
  const __m256i codes = _mm256_or_si256(low, high);
  return {_mm_packus_epi16(_mm256_castsi256_si128(codes), _mm256_extracti128_si256(codes, 1))};
}

// e2m1_encode; one code in the low nibble of each lane.
HONE_SIMD i32x16 e2m1_codes(f32x16 x) {
  const SignMagnitude parts = split_sign(x);
  const i32x16 a = min(parts.magnitude, set1_i32(0x40C00000));
  const i32x16 normal = shr<22>(round_bits<22>(a)) - set1_i32(126 << 1);
  const i32x16 small = as_i32(as_f32(a) + set1(4194304.0F)) - set1_i32(0x4A800000);
  return shr<28>(parts.sign) | select(greater(set1_i32(0x3F800000), a), small, normal);
}
// Sixteen codes as eight packed bytes.
HONE_SIMD void store_nibbles(void* packed, i32x16 codes) {
  const __m128i bytes = narrow_u8(codes).v;
  const __m128i pairs = _mm_maddubs_epi16(bytes, _mm_set1_epi16(0x1001));
  _mm_storel_epi64(static_cast<__m128i*>(packed), _mm_packus_epi16(pairs, pairs));
}
HONE_SIMD void store_e2m1(void* packed, f32x16 x) {
  store_nibbles(packed, e2m1_codes(x));
}
HONE_SIMD void store_bf16(void* p, f32x16 x) {
  store_u16(p, to_bf16(x));
}
HONE_SIMD void store_f16(void* p, f32x16 x) {
  store_u16(p, to_f16(x));
}
HONE_SIMD void store_e4m3(void* p, f32x16 x) {
  store_u8(p, to_e4m3(x));
}

// ---- rounding to the nearest value of a format, staying in float32; x must not be NaN

// e4m3_decode(e4m3_encode(x))
HONE_SIMD f32x16 round_e4m3(f32x16 x) {
  const SignMagnitude parts = split_sign(x);
  const i32x16 a = min(parts.magnitude, set1_i32(0x43E00000));
  const i32x16 normal = round_bits<20>(a) & set1_i32(~0xFFFFF);
  const i32x16 small = as_i32((as_f32(a) + set1(16384.0F)) - set1(16384.0F));
  return as_f32(parts.sign | select(greater(set1_i32(0x3C800000), a), small, normal));
}

// e2m1_decode(e2m1_encode(x))
HONE_SIMD f32x16 round_e2m1(f32x16 x) {
  const SignMagnitude parts = split_sign(x);
  const i32x16 a = min(parts.magnitude, set1_i32(0x40C00000));
  const i32x16 normal = round_bits<22>(a) & set1_i32(~0x3FFFFF);
  const i32x16 small = as_i32((as_f32(a) + set1(4194304.0F)) - set1(4194304.0F));
  return as_f32(parts.sign | select(greater(set1_i32(0x3F800000), a), small, normal));
}

// bf16_decode(bf16_encode(x))
HONE_SIMD f32x16 round_bf16(f32x16 x) {
  return as_f32(round_bits<16>(as_i32(x)) & set1_i32(~0xFFFF));
}

}  // namespace hone::HONE_ISA
