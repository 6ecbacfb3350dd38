// What simd_test.cc calls in the sources compiled for each ISA: every operation of simd.h on the
// same sixteen lanes, so that the two can be compared bit by bit and with scalar code.
#pragma once

#include <cstdint>

namespace hone {

// Inputs: 16 lanes each; shift counts are fixed at 5.
struct SimdInput {
  float a[16];
  float b[16];
  float c[16];
  int32_t i[16];
  int32_t j[16];
};

// Results by operation in a fixed order, 16 words each (float results as bits).
struct SimdResult {
  const char* name;
  uint32_t lanes[16];
};

inline constexpr int kMaxOperations = 64;

namespace avx2 {
// Returns the number of operations; out has room for kMaxOperations.
int every_operation(const SimdInput& input, SimdResult* out);
// The first n lanes of src, loaded and stored through the partial forms into out[0..17).
void copy_partial(const float* src, int64_t n, float* out);
}  // namespace avx2
namespace avx512 {
int every_operation(const SimdInput& input, SimdResult* out);
void copy_partial(const float* src, int64_t n, float* out);
}  // namespace avx512

}  // namespace hone
