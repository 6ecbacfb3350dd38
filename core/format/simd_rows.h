// Rows of F32, BF16 or F16 in steps of sixteen lanes, remainder included. For sources of
// hone_isa_sources().
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/format/simd_codes.h"
#include "core/tensor/dtype.h"

namespace hone::HONE_ISA {

struct LoadF32 {
  static constexpr int64_t kSize = 4;
  static HONE_SIMD f32x16 at(const std::byte* p) {
    return as_f32(load_i32(reinterpret_cast<const int32_t*>(p)));
  }
};
struct LoadBf16 {
  static constexpr int64_t kSize = 2;
  static HONE_SIMD f32x16 at(const std::byte* p) { return load_bf16(p); }
  // Bits of the same number as float32.
  static HONE_SIMD uint32_t widen_bits(uint16_t bits) { return uint32_t{bits} << 16; }
};
struct LoadF16 {
  static constexpr int64_t kSize = 2;
  static HONE_SIMD f32x16 at(const std::byte* p) { return load_f16(p); }
  static HONE_SIMD uint32_t widen_bits(uint16_t bits) {
    const __m128 value = _mm_cvtph_ps(_mm_cvtsi32_si128(bits));
    return static_cast<uint32_t>(_mm_cvtsi128_si32(_mm_castps_si128(value)));
  }
};

// The first n < 16 lanes from memory, the others zero.
template <typename Load>
HONE_SIMD f32x16 load_tail(const std::byte* p, int64_t n) {
  alignas(64) std::byte buffer[kLanes * sizeof(float)] = {};
  std::memcpy(buffer, p, static_cast<size_t>(n * Load::kSize));
  return Load::at(buffer);
}

// body(index of the first lane, lanes that count, values), values beyond them zero.
template <typename Load, typename Body>
HONE_SIMD void for_lanes(const std::byte* source, int64_t n, Body body) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) body(i, kLanes, Load::at(source + i * Load::kSize));
  if (i < n) body(i, static_cast<int>(n - i), load_tail<Load>(source + i * Load::kSize, n - i));
}

// ---- largest magnitudes. Bits of 16-bit floats without their sign are ordered as the values are,
// NaN above infinity, so they are compared as integers before anything is widened.

HONE_SIMD __m256i magnitude_bits(const std::byte* p) {
  return _mm256_and_si256(load_u16(p).v, _mm256_set1_epi16(0x7FFF));
}

HONE_SIMD uint16_t hmax_u16(__m256i a) {
  const __m128i eight = _mm_max_epu16(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
  const __m128i least = _mm_minpos_epu16(_mm_xor_si128(eight, _mm_set1_epi16(-1)));
  return static_cast<uint16_t>(~_mm_extract_epi16(least, 0));
}

// Lane b: the largest magnitude of block b of kBlock elements, as float32; lanes from `blocks` on
// are zero. kBlock: 16 or 32.
template <typename Load, int64_t kBlock>
HONE_SIMD f32x16 block_amaxes(const std::byte* source, int64_t blocks) {
  if constexpr (Load::kSize == 2) {
    alignas(32) uint16_t bits[kLanes] = {};
    for (int64_t b = 0; b < blocks; ++b) {
      const std::byte* block = source + b * kBlock * 2;
      __m256i most = magnitude_bits(block);
      if constexpr (kBlock == 32) most = _mm256_max_epu16(most, magnitude_bits(block + 32));
      bits[b] = hmax_u16(most);
    }
    return Load::at(reinterpret_cast<const std::byte*>(bits));
  } else {
    alignas(64) int32_t bits[kLanes] = {};
    for (int64_t b = 0; b < blocks; ++b) {
      const std::byte* block = source + b * kBlock * Load::kSize;
      i32x16 most = as_i32(abs(Load::at(block)));
      if constexpr (kBlock == 32)
        most = max(most, as_i32(abs(Load::at(block + kLanes * Load::kSize))));
      bits[b] = hmax(most);
    }
    return as_f32(load_i32(bits));
  }
}

// Calls body with the loader of the dtype.
template <typename Body>
HONE_SIMD auto with_loader(DType type, Body body) {
  switch (type) {
    case DType::kBF16:
      return body(LoadBf16{});
    case DType::kF16:
      return body(LoadF16{});
    default:
      return body(LoadF32{});
  }
}

}  // namespace hone::HONE_ISA
