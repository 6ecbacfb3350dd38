// Dense float32 matrix products for training, by own kernels.
//
// C = alpha * op(A) * op(B) + beta * C, row-major, over the tiled kernel of runtime/op/matmul.h and
// in its canonical order: C = beta * C (rounded; skipped for 0 and 1), A = alpha * op(A) (rounded),
// then the blocks of K are added in order. So training gives the same bits for every thread count
// and ISA. (A BLAS does not promise that, and distributions' OpenBLAS falls back to its slowest
// kernels on CPUs that it does not know; tests/bench/op_prefill compares.)
#pragma once

#include <cstdint>
#include <span>

namespace hone {

struct SgemmArgs {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  bool transpose_a = false;  // A is stored [k, m] instead of [m, k]
  bool transpose_b = false;  // B is stored [n, k] instead of [k, n]
  float alpha = 1.0F;
  float beta = 0.0F;  // 0: C is overwritten whatever it holds
};

// Contiguous matrices of exactly the sizes above; UsageError otherwise.
void sgemm(
    const SgemmArgs& args, std::span<const float> a, std::span<const float> b, std::span<float> c
);

// The three products of a linear layer y = x w^T; x: [rows, K], w: [N, K], y, dy: [rows, N].
void linear_forward(
    std::span<const float> x, std::span<const float> w, int64_t k, std::span<float> y
);
// dx = dy w: [rows, K], overwritten.
void linear_backward_input(
    std::span<const float> dy, std::span<const float> w, int64_t k, std::span<float> dx
);
// dw += dy^T x: [N, K], accumulated into.
void linear_backward_weight(
    std::span<const float> dy, std::span<const float> x, int64_t k, std::span<float> dw
);

}  // namespace hone
