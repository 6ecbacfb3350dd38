// Dense float32 matrix products for training, over OpenBLAS.
//
// C = alpha * op(A) * op(B) + beta * C, row-major. OpenBLAS runs single-threaded in each call; C is
// cut into a grid of tiles that depends on the shape alone and the tiles are shared out over
// ThreadPool::global(), so results do not depend on the number of threads. They do depend on the
// CPU's BLAS kernel: inference never uses this (runtime/op/matmul.h).
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
