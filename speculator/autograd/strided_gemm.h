// Small float32 products of strided matrices, in the calling thread.
//
// For use inside parallel regions: a head of attention is a strided slice of its matrix, and its
// inner dimensions are too short for the tiles of runtime/op/sgemm.h, which whole matrices go
// through.
#pragma once

#include <cstdint>

namespace hone {

// C = alpha * op(A) * op(B) (+ C), row-major; op(A): [m, k], op(B): [k, n], C: [m, n].
// lda, ldb, ldc are row strides in elements of the matrices as stored. C may not alias A or B.
// Order of one element: sum = fma(a[k], b[k], sum) for k ascending from +0, then alpha * sum (+ C).
struct StridedGemm {
  bool transpose_a = false;
  bool transpose_b = false;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  float alpha = 1.0F;
  const float* a = nullptr;
  int64_t lda = 0;
  const float* b = nullptr;
  int64_t ldb = 0;
  bool accumulate = false;
  float* c = nullptr;
  int64_t ldc = 0;
};

// Throws InternalError when a row stride is below the row length.
void strided_gemm(const StridedGemm& product);

}  // namespace hone
