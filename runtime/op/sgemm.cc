#include "runtime/op/sgemm.h"

#include <algorithm>
#include <mutex>

#include "core/base/error.h"
#include "runtime/op/cpu/scratch.h"
#include "runtime/op/tiled_gemm.h"

namespace hone {
namespace {

thread_local cpu::Scratch t_weight;

void check_size(const char* name, size_t found, int64_t rows, int64_t cols) {
  require(
      rows >= 0 && cols >= 0 && found == static_cast<size_t>(rows * cols),
      "sgemm: {} has {} elements, expected {} x {}",
      name,
      found,
      rows,
      cols
  );
}

int64_t row_count(const char* what, size_t size, int64_t dim) {
  require(
      dim > 0 && size % static_cast<size_t>(dim) == 0,
      "{}: {} elements are not a multiple of {}",
      what,
      size,
      dim
  );
  return static_cast<int64_t>(size) / dim;
}

}  // namespace

void sgemm(
    const SgemmArgs& args, std::span<const float> a, std::span<const float> b, std::span<float> c
) {
  check_size("A", a.size(), args.m, args.k);
  check_size("B", b.size(), args.k, args.n);
  check_size("C", c.size(), args.m, args.n);
  if (args.m == 0 || args.n == 0) return;
  if (args.beta == 0.0F) {
    if (args.k == 0) std::fill(c.begin(), c.end(), 0.0F);
  } else if (args.beta != 1.0F) {
    for (float& value : c) value *= args.beta;
  }
  if (args.k == 0) return;

  TiledGemm gemm;
  gemm.rows = args.m;
  gemm.transposed_x = args.transpose_a;
  gemm.factor = args.alpha;
  gemm.weight.desc = {WeightFormat::kF32, args.n, args.k};
  gemm.weight.accumulate = args.beta != 0.0F;
  const float* weight = b.data();
  if (!args.transpose_b) {
    float* rows = t_weight.get(args.n * args.k);
    transpose({b.data(), args.n, rows, args.k, 1.0F}, args.k);
    weight = rows;
  }
  gemm.weight.codes = reinterpret_cast<const uint8_t*>(weight);
  tiled_gemm(gemm, a.data(), c.data());
}

void linear_forward(
    std::span<const float> x, std::span<const float> w, int64_t k, std::span<float> y
) {
  SgemmArgs args;
  args.m = row_count("linear_forward: x", x.size(), k);
  args.n = row_count("linear_forward: w", w.size(), k);
  args.k = k;
  args.transpose_b = true;
  sgemm(args, x, w, y);
}

void linear_backward_input(
    std::span<const float> dy, std::span<const float> w, int64_t k, std::span<float> dx
) {
  SgemmArgs args;
  args.k = row_count("linear_backward_input: w", w.size(), k);
  args.m = row_count("linear_backward_input: dy", dy.size(), args.k);
  args.n = k;
  sgemm(args, dy, w, dx);
}

void linear_backward_weight(
    std::span<const float> dy, std::span<const float> x, int64_t k, std::span<float> dw
) {
  SgemmArgs args;
  args.m = row_count("linear_backward_weight: dw", dw.size(), k);
  args.n = k;
  args.k = row_count("linear_backward_weight: dy", dy.size(), args.m);
  args.transpose_a = true;
  args.beta = 1.0F;
  sgemm(args, dy, x, dw);
}

}  // namespace hone
