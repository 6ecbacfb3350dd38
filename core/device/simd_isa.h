// Which instruction set a source is compiled for, and the lane types that all have in common.
// Included by core/device/simd.h; the only reader of HONE_ISA.
#pragma once

#include <cstdint>

#include <immintrin.h>

#ifndef HONE_ISA
#define HONE_ISA avx2
#endif
#define HONE_ISA_IS_avx2 2
#define HONE_ISA_IS_avx512 512
#define HONE_ISA_PASTE(a, b) a##b
#define HONE_ISA_WIDTH(isa) HONE_ISA_PASTE(HONE_ISA_IS_, isa)
#define HONE_SIMD __attribute__((always_inline)) inline

namespace hone::HONE_ISA {

inline constexpr int kLanes = 16;

// Sixteen bytes, sixteen 16-bit words.
struct u8x16 {
  __m128i v;
};
struct u16x16 {
  __m256i v;
};

}  // namespace hone::HONE_ISA
