// Transposition in blocks of 8 x 8, so that both sides move whole vectors.
#include <immintrin.h>

#include "core/device/simd.h"
#include "runtime/op/cpu/kernels.h"

namespace hone::HONE_ISA {
namespace {

HONE_SIMD void transpose_block(const float* in, int64_t in_stride, __m256 factor, __m256 (&t)[8]) {
  __m256 r[8];
  for (int i = 0; i < 8; ++i) r[i] = _mm256_mul_ps(_mm256_loadu_ps(in + i * in_stride), factor);
  __m256 a[8];
  for (int i = 0; i < 8; i += 2) {
    a[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
    a[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
  }
  __m256 b[8];
  for (int i = 0; i < 8; i += 4) {
    b[i] = _mm256_shuffle_ps(a[i], a[i + 2], 0x44);
    b[i + 1] = _mm256_shuffle_ps(a[i], a[i + 2], 0xEE);
    b[i + 2] = _mm256_shuffle_ps(a[i + 1], a[i + 3], 0x44);
    b[i + 3] = _mm256_shuffle_ps(a[i + 1], a[i + 3], 0xEE);
  }
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm256_permute2f128_ps(b[i], b[i + 4], 0x20);
    t[i + 4] = _mm256_permute2f128_ps(b[i], b[i + 4], 0x31);
  }
}

void transpose(const cpu::TransposeCall& call, int64_t row0, int64_t row1) {
  const __m256 factor = _mm256_set1_ps(call.factor);
  const int64_t whole_rows = row0 + (row1 - row0) / 8 * 8;
  const int64_t whole_cols = call.cols / 8 * 8;
  for (int64_t c = 0; c < whole_cols; c += 8) {
    for (int64_t r = row0; r < whole_rows; r += 8) {
      __m256 t[8];
      transpose_block(call.in + r * call.cols + c, call.cols, factor, t);
      for (int i = 0; i < 8; ++i) _mm256_storeu_ps(call.out + (c + i) * call.out_stride + r, t[i]);
    }
  }
  for (int64_t r = row0; r < row1; ++r) {
    const int64_t first = r < whole_rows ? whole_cols : 0;
    for (int64_t c = first; c < call.cols; ++c) {
      call.out[c * call.out_stride + r] = call.factor * call.in[r * call.cols + c];
    }
  }
}

}  // namespace

void fill_transpose(cpu::Kernels& table) {
  table.transpose = transpose;
}

}  // namespace hone::HONE_ISA
