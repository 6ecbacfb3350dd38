// The driver of the tiled matmul kernel: packs rows of x, splits the work. Shared by matmul.h
// (stored weights) and sgemm.h (dense float32, any transposition). Internal to runtime/op.
#pragma once

#include <cstdint>

#include "runtime/op/cpu/kernels.h"

namespace hone {

// y[r, n] = (accumulate ? y[r, n] : 0) + sum_k factor * x[r, k] * w[n, k], blocks added in order.
struct TiledGemm {
  cpu::MatmulCall weight;  // desc, codes, scales and `accumulate`; the rest is filled in
  int64_t rows = 0;
  bool transposed_x = false;  // x is stored [k, rows]
  float factor = 1.0F;        // multiplies x, rounded, before anything else
};

// x: [rows, k] (or [k, rows]), y: [rows, n], contiguous. Sizes are the caller's promise.
void tiled_gemm(const TiledGemm& gemm, const float* x, float* y);

// out[c, r] = factor * in[r, c]; in: [rows, cols], out: [cols, out_stride], out_stride >= rows.
void transpose(const cpu::TransposeCall& call, int64_t rows);

}  // namespace hone
