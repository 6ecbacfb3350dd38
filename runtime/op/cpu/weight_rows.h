// Rows of a stored weight, decoded in registers: one type for each WeightFormat.
//
// Each has pair(k, a, b): columns k..k+15 and k+16..k+31; one(k): columns k..k+15; partial(k, n):
// the first n, zeros behind. k is a multiple of 16. The numbers are those of dequantize_rows().
// in_order(sum) brings lanes back into the order of columns, where a type decodes in another.
// For sources of hone_isa_sources().
#pragma once

#include <cstdint>

#include "core/device/simd.h"
#include "core/format/simd_codes.h"
#include "runtime/op/cpu/kernels.h"

namespace hone::HONE_ISA {

// The first `bytes` of p, zeros behind, for loads that would run past the end of a tensor.
template <int kSize>
struct PaddedCodes {
  alignas(kSize) uint8_t data[kSize] = {};
  HONE_SIMD PaddedCodes(const uint8_t* p, int64_t bytes) {
    for (int64_t i = 0; i < bytes; ++i) data[i] = p[i];
  }
};

struct ColumnOrder {
  HONE_SIMD static f32x16 in_order(f32x16 sum) { return sum; }
};

struct F32Row : ColumnOrder {
  const float* row;
  HONE_SIMD F32Row(const cpu::MatmulCall& call, int64_t n)
      : row(reinterpret_cast<const float*>(call.codes) + n * call.desc.k) {}
  HONE_SIMD void pair(int64_t k, f32x16& a, f32x16& b) const {
    a = load(row + k);
    b = load(row + k + 16);
  }
  HONE_SIMD f32x16 one(int64_t k) const { return load(row + k); }
  HONE_SIMD f32x16 partial(int64_t k, int64_t n) const { return load_partial(row + k, n); }
};

struct Bf16Row : ColumnOrder {
  const uint8_t* row;
  HONE_SIMD Bf16Row(const cpu::MatmulCall& call, int64_t n)
      : row(call.codes + n * call.desc.k * 2) {}
  HONE_SIMD void pair(int64_t k, f32x16& a, f32x16& b) const {
    a = load_bf16(row + k * 2);
    b = load_bf16(row + k * 2 + 32);
  }
  HONE_SIMD f32x16 one(int64_t k) const { return load_bf16(row + k * 2); }
  HONE_SIMD f32x16 partial(int64_t k, int64_t n) const {
    return load_bf16(PaddedCodes<32>(row + k * 2, n * 2).data);
  }
};

struct F16Row : ColumnOrder {
  const uint8_t* row;
  HONE_SIMD F16Row(const cpu::MatmulCall& call, int64_t n)
      : row(call.codes + n * call.desc.k * 2) {}
  HONE_SIMD void pair(int64_t k, f32x16& a, f32x16& b) const {
    a = load_f16(row + k * 2);
    b = load_f16(row + k * 2 + 32);
  }
  HONE_SIMD f32x16 one(int64_t k) const { return load_f16(row + k * 2); }
  HONE_SIMD f32x16 partial(int64_t k, int64_t n) const {
    return load_f16(PaddedCodes<32>(row + k * 2, n * 2).data);
  }
};

// The bits of E4M3 codes read as F16 give 2^-8 of the value, subnormals included; the factor 256
// is in the scales of the call, so the product with them is the only rounding.
struct Fp8Row : ColumnOrder {
  const uint8_t* row;
  const float* scales;
  HONE_SIMD Fp8Row(const cpu::MatmulCall& call, int64_t n)
      : row(call.codes + n * call.desc.k),
        scales(call.block_scales_256 + n / 128 * ((call.desc.k + 127) / 128)) {}
  HONE_SIMD f32x16 scale(int64_t k) const { return set1(scales[k / 128]); }
  HONE_SIMD static f32x16 decode(u8x16 codes) {
    const __m256i wide = _mm256_slli_epi16(_mm256_cvtepi8_epi16(codes.v), 7);
    return from_f16({_mm256_and_si256(wide, _mm256_set1_epi16(static_cast<int16_t>(0xBF80)))});
  }
#if HONE_ISA_WIDTH(HONE_ISA) == 512
  HONE_SIMD void pair(int64_t k, f32x16& a, f32x16& b) const {
    const __m256i codes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(row + k));
    const __m512i wide = _mm512_slli_epi16(_mm512_cvtepi8_epi16(codes), 7);
    const __m512i f16 = _mm512_and_si512(wide, _mm512_set1_epi16(static_cast<int16_t>(0xBF80)));
    const f32x16 s = scale(k);
    a = from_f16({_mm512_castsi512_si256(f16)}) * s;
    b = from_f16({_mm512_extracti64x4_epi64(f16, 1)}) * s;
  }
#else
  HONE_SIMD void pair(int64_t k, f32x16& a, f32x16& b) const {
    const f32x16 s = scale(k);
    a = decode(load_u8(row + k)) * s;
    b = decode(load_u8(row + k + 16)) * s;
  }
#endif
  HONE_SIMD f32x16 one(int64_t k) const {
    return decode(load_u8(row + k)) * scale(k);
  }
  HONE_SIMD f32x16 partial(int64_t k, int64_t n) const {
    return decode(load_u8(PaddedCodes<16>(row + k, n).data)) * scale(k);
  }
};

// A group of 16 looks its values up in the table of products with its scale: no arithmetic, and
// every product has been rounded once.
struct Nvfp4Row : ColumnOrder {
  const uint8_t* row;
  const uint8_t* scales;
  const float* products;
  HONE_SIMD Nvfp4Row(const cpu::MatmulCall& call, int64_t n)
      : row(call.codes + n * call.desc.k / 2),
        scales(call.group_scales + n * call.desc.k / 16),
        products(call.products) {}
  HONE_SIMD f32x16 one(int64_t k) const {
    const uint8_t* codes = row + k / 2;
    const float* table = products + 16 * static_cast<int64_t>(scales[k / 16]);
    int32_t low;
    int32_t high;
    __builtin_memcpy(&low, codes, 4);
    __builtin_memcpy(&high, codes + 4, 4);
#if HONE_ISA_WIDTH(HONE_ISA) == 512
    const __m512i shifts =
        _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28);
    const __m512i both = _mm512_mask_set1_epi32(_mm512_set1_epi32(low), 0xFF00, high);
    // Bits above the low four do not count in a lookup.
    return {_mm512_permutexvar_ps(_mm512_srlv_epi32(both, shifts), _mm512_loadu_ps(table))};
#else
    const __m256 magnitudes = _mm256_loadu_ps(table);
    return {decode8(low, magnitudes), decode8(high, magnitudes)};
#endif
  }
#if HONE_ISA_WIDTH(HONE_ISA) == 2
  // Eight codes: a lookup by the low three bits, the fourth is the sign.
  HONE_SIMD static __m256 decode8(int32_t codes, __m256 magnitudes) {
    const __m256i shifts = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
    const __m256i index = _mm256_srlv_epi32(_mm256_set1_epi32(codes), shifts);
    const __m256 sign =
        _mm256_and_ps(_mm256_castsi256_ps(_mm256_slli_epi32(index, 28)), _mm256_set1_ps(-0.0F));
    return _mm256_xor_ps(_mm256_permutevar8x32_ps(magnitudes, index), sign);
  }
#endif
  HONE_SIMD void pair(int64_t k, f32x16& a, f32x16& b) const {
    a = one(k);
    b = one(k + 16);
  }
  // Columns come in whole groups of 16.
  HONE_SIMD f32x16 partial(int64_t k, int64_t) const {
    return one(k);
  }
};

// For kernels that use a row at once, with columns in the order that costs least to decode: with
// AVX-512, eight packed bytes are broadcast as pairs of words, so lanes 2i and 2i + 1 hold columns
// i and 8 + i of a group. order_nvfp4() puts x into that order.
#if HONE_ISA_WIDTH(HONE_ISA) == 512
inline constexpr bool kNvfp4Ordered = true;
HONE_SIMD f32x16 order_nvfp4(f32x16 x) {
  const __m512i columns = _mm512_setr_epi32(0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15);
  return {_mm512_permutexvar_ps(columns, x.v)};
}
struct Nvfp4OrderedRow : Nvfp4Row {
  using Nvfp4Row::Nvfp4Row;
  HONE_SIMD f32x16 one(int64_t k) const {
    const float* table = products + 16 * static_cast<int64_t>(scales[k / 16]);
    int64_t codes;
    __builtin_memcpy(&codes, row + k / 2, 8);
    const __m512i shifts =
        _mm512_setr_epi32(0, 0, 4, 4, 8, 8, 12, 12, 16, 16, 20, 20, 24, 24, 28, 28);
    const __m512i index = _mm512_srlv_epi32(_mm512_set1_epi64(codes), shifts);
    return {_mm512_permutexvar_ps(index, _mm512_loadu_ps(table))};
  }
  HONE_SIMD void pair(int64_t k, f32x16& a, f32x16& b) const {
    a = one(k);
    b = one(k + 16);
  }
  HONE_SIMD f32x16 partial(int64_t k, int64_t) const { return one(k); }
  HONE_SIMD static f32x16 in_order(f32x16 sum) {
    const __m512i lanes = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15);
    return {_mm512_permutexvar_ps(lanes, sum.v)};
  }
};
#else
inline constexpr bool kNvfp4Ordered = false;
HONE_SIMD f32x16 order_nvfp4(f32x16 x) {
  return x;
}
using Nvfp4OrderedRow = Nvfp4Row;
#endif

}  // namespace hone::HONE_ISA
