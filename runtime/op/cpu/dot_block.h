// Blocks of dot products in the canonical order of runtime/op/matmul.h: the inner kernel of tiled
// matmul and of attention. For sources of hone_isa_sources().
#pragma once

#include <cstdint>

#include "core/device/simd.h"

namespace hone::HONE_ISA {

// The register tile of the tiled matmul: accumulators, a vector of each row of x and one of a
// weight row fit the register file (32 registers with AVX-512, 16 with AVX2, where large tiles take
// the lower and the upper eight lanes in two passes).
#if HONE_ISA_WIDTH(HONE_ISA) == 512
inline constexpr int kTileX = 4;
inline constexpr int kTileW = 6;
// Queries and keys in one block of attention scores.
inline constexpr int kTileQueries = 4;
inline constexpr int kTileKeys = 4;
#else
inline constexpr int kTileX = 4;
inline constexpr int kTileW = 3;
inline constexpr int kTileQueries = 1;
inline constexpr int kTileKeys = 4;
#endif

HONE_SIMD __m256 lanes_64(__m256 a, __m256 b, bool high) {
  return high ? _mm256_shuffle_ps(a, b, 0xEE) : _mm256_shuffle_ps(a, b, 0x44);
}

// sums[i] = hsum(a[i]) for kCount = 4, 8 or 16 accumulators: the same tree, with the additions of
// several accumulators sharing registers.
#if HONE_ISA_WIDTH(HONE_ISA) == 512
// 4-lane sums of four accumulators, one in each 128-bit quarter.
HONE_SIMD __m512 quarter_sums(f32x16 a, f32x16 b, f32x16 c, f32x16 d) {
  const __m512 ab =
      _mm512_add_ps(_mm512_shuffle_f32x4(a.v, b.v, 0x44), _mm512_shuffle_f32x4(a.v, b.v, 0xEE));
  const __m512 cd =
      _mm512_add_ps(_mm512_shuffle_f32x4(c.v, d.v, 0x44), _mm512_shuffle_f32x4(c.v, d.v, 0xEE));
  return _mm512_add_ps(_mm512_shuffle_f32x4(ab, cd, 0x88), _mm512_shuffle_f32x4(ab, cd, 0xDD));
}
// From four such registers: lane q of quarter i is the sum of quarter i of register q.
HONE_SIMD __m512 finish_sums(__m512 a, __m512 b, __m512 c, __m512 d) {
  const __m512 ab = _mm512_add_ps(_mm512_shuffle_ps(a, b, 0x44), _mm512_shuffle_ps(a, b, 0xEE));
  const __m512 cd = _mm512_add_ps(_mm512_shuffle_ps(c, d, 0x44), _mm512_shuffle_ps(c, d, 0xEE));
  return _mm512_add_ps(_mm512_shuffle_ps(ab, cd, 0x88), _mm512_shuffle_ps(ab, cd, 0xDD));
}
template <int kCount>
HONE_SIMD void hsum_many(const f32x16* a, float* sums) {
  static_assert(kCount == 4 || kCount == 8 || kCount == 16);
  if constexpr (kCount == 16) {
    const __m512 q0 = quarter_sums(a[0], a[4], a[8], a[12]);
    const __m512 q1 = quarter_sums(a[1], a[5], a[9], a[13]);
    const __m512 q2 = quarter_sums(a[2], a[6], a[10], a[14]);
    const __m512 q3 = quarter_sums(a[3], a[7], a[11], a[15]);
    _mm512_storeu_ps(sums, finish_sums(q0, q1, q2, q3));
  } else if constexpr (kCount == 8) {
    const __m512 q0 = quarter_sums(a[0], a[2], a[4], a[6]);
    const __m512 q1 = quarter_sums(a[1], a[3], a[5], a[7]);
    // Lanes 0 and 1 of each quarter hold two neighbours.
    const __m512i pick = _mm512_setr_epi32(0, 1, 4, 5, 8, 9, 12, 13, 0, 0, 0, 0, 0, 0, 0, 0);
    const __m512 all = _mm512_permutexvar_ps(pick, finish_sums(q0, q1, q0, q1));
    _mm256_storeu_ps(sums, _mm512_castps512_ps256(all));
  } else {
    const __m512 q = quarter_sums(a[0], a[1], a[2], a[3]);
    const __m512i pick = _mm512_setr_epi32(0, 4, 8, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    const __m512 all = _mm512_permutexvar_ps(pick, finish_sums(q, q, q, q));
    _mm_storeu_ps(sums, _mm512_castps512_ps128(all));
  }
}
#else
// 4-lane sums of two accumulators, one in each 128-bit half.
HONE_SIMD __m256 half_sums(f32x16 a, f32x16 b) {
  const __m256 a8 = _mm256_add_ps(a.lo, a.hi);
  const __m256 b8 = _mm256_add_ps(b.lo, b.hi);
  return _mm256_add_ps(_mm256_permute2f128_ps(a8, b8, 0x20), _mm256_permute2f128_ps(a8, b8, 0x31));
}
template <int kCount>
HONE_SIMD void hsum_many(const f32x16* a, float* sums) {
  static_assert(kCount == 4 || kCount == 8 || kCount == 16);
  if constexpr (kCount == 16) {
    hsum_many<8>(a, sums);
    hsum_many<8>(a + 8, sums + 8);
  } else if constexpr (kCount == 8) {
    const __m256 h0 = half_sums(a[0], a[4]);
    const __m256 h1 = half_sums(a[1], a[5]);
    const __m256 h2 = half_sums(a[2], a[6]);
    const __m256 h3 = half_sums(a[3], a[7]);
    const __m256 s01 = _mm256_add_ps(lanes_64(h0, h1, false), lanes_64(h0, h1, true));
    const __m256 s23 = _mm256_add_ps(lanes_64(h2, h3, false), lanes_64(h2, h3, true));
    const __m256 even = _mm256_shuffle_ps(s01, s23, 0x88);
    const __m256 odd = _mm256_shuffle_ps(s01, s23, 0xDD);
    _mm256_storeu_ps(sums, _mm256_add_ps(even, odd));
  } else {
    const __m256 h0 = half_sums(a[0], a[2]);
    const __m256 h1 = half_sums(a[1], a[3]);
    const __m256 s = _mm256_add_ps(lanes_64(h0, h1, false), lanes_64(h0, h1, true));
    const __m256 t = _mm256_add_ps(s, _mm256_movehdup_ps(s));  // lanes 0 and 2 of each half
    const __m128 low = _mm256_castps256_ps128(t);
    const __m128 high = _mm256_extractf128_ps(t, 1);
    _mm_storeu_ps(sums, _mm_shuffle_ps(low, high, 0x88));
  }
}
#endif

template <int kCount>
HONE_SIMD void hsum_all(const f32x16* a, float* sums) {
  if constexpr (kCount >= 16) {
    hsum_many<16>(a, sums);
    hsum_all<kCount - 16>(a + 16, sums + 16);
  } else if constexpr (kCount >= 8) {
    hsum_many<8>(a, sums);
    hsum_all<kCount - 8>(a + 8, sums + 8);
  } else if constexpr (kCount >= 4) {
    hsum_many<4>(a, sums);
    hsum_all<kCount - 4>(a + 4, sums + 4);
  } else if constexpr (kCount > 0) {
    sums[0] = hsum(a[0]);
    hsum_all<kCount - 1>(a + 1, sums + 1);
  }
}

// Whole vectors of columns: acc[i * kW + j] += x[i] * w[j].
template <int kX, int kW>
HONE_SIMD void dot_columns(
    const float* const* x, const float* const* w, int64_t columns, f32x16 (&acc)[kX * kW]
) {
  for (int64_t column = 0; column + 16 <= columns; column += 16) {
    f32x16 left[kX];
    for (int i = 0; i < kX; ++i) left[i] = load(x[i] + column);
    for (int j = 0; j < kW; ++j) {
      const f32x16 right = load(w[j] + column);
      for (int i = 0; i < kX; ++i) acc[i * kW + j] = fma(left[i], right, acc[i * kW + j]);
    }
  }
}

#if HONE_ISA_WIDTH(HONE_ISA) == 2
// Lanes kFirst .. kFirst + 7 only: twelve accumulators in as many registers.
template <int kX, int kW, int kFirst>
HONE_SIMD void dot_half_columns(
    const float* const* x, const float* const* w, int64_t columns, __m256 (&acc)[kX * kW]
) {
  for (int i = 0; i < kX * kW; ++i) acc[i] = _mm256_setzero_ps();
  for (int64_t column = 0; column + 16 <= columns; column += 16) {
    __m256 right[kW];
    for (int j = 0; j < kW; ++j) right[j] = _mm256_loadu_ps(w[j] + column + kFirst);
    for (int i = 0; i < kX; ++i) {
      const __m256 left = _mm256_loadu_ps(x[i] + column + kFirst);
      for (int j = 0; j < kW; ++j) {
        acc[i * kW + j] = _mm256_fmadd_ps(left, right[j], acc[i * kW + j]);
      }
    }
  }
}

template <int kX, int kW>
HONE_SIMD void dot_in_halves(
    const float* const* x, const float* const* w, int64_t columns, f32x16 (&acc)[kX * kW]
) {
  __m256 low[kX * kW];
  dot_half_columns<kX, kW, 0>(x, w, columns, low);
  for (int i = 0; i < kX * kW; ++i) acc[i].lo = low[i];
  __m256 high[kX * kW];
  dot_half_columns<kX, kW, 8>(x, w, columns, high);
  for (int i = 0; i < kX * kW; ++i) acc[i].hi = high[i];
}
#endif

// sums[i * kW + j] = dot(x[i], w[j]) over at most 1024 columns, i < kX, j < kW.
template <int kX, int kW>
HONE_SIMD void dot_block(
    const float* const* x, const float* const* w, int64_t columns, float* sums
) {
  f32x16 acc[kX * kW];
#if HONE_ISA_WIDTH(HONE_ISA) == 2
  if constexpr (kX * kW > 6) {
    dot_in_halves<kX, kW>(x, w, columns, acc);
  } else {
    for (int i = 0; i < kX * kW; ++i) acc[i] = zero();
    dot_columns<kX, kW>(x, w, columns, acc);
  }
#else
  for (int i = 0; i < kX * kW; ++i) acc[i] = zero();
  dot_columns<kX, kW>(x, w, columns, acc);
#endif
  const int64_t column = columns / 16 * 16;
  if (column < columns) {
    const int64_t left = columns - column;
    for (int j = 0; j < kW; ++j) {
      const f32x16 right = load_partial(w[j] + column, left);
      for (int i = 0; i < kX; ++i) {
        acc[i * kW + j] = fma(load_partial(x[i] + column, left), right, acc[i * kW + j]);
      }
    }
  }
  hsum_all<kX * kW>(acc, sums);
}

}  // namespace hone::HONE_ISA
