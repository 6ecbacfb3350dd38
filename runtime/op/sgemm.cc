#include "runtime/op/sgemm.h"

#include <algorithm>
#include <mutex>

#include <cblas-openblas.h>

#include "core/base/error.h"
#include "core/base/threads.h"

namespace hone {
namespace {

// Tiles of C. Large enough that packing a panel of A and B is paid back, small enough to share out
// the weight gradients of a small model.
constexpr int64_t kTileRows = 128;
constexpr int64_t kTileCols = 512;

void single_threaded_blas() {
  static std::once_flag once;
  std::call_once(once, [] { openblas_set_num_threads(1); });
}

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
  single_threaded_blas();
  const int64_t lda = std::max<int64_t>(1, args.transpose_a ? args.m : args.k);
  const int64_t ldb = std::max<int64_t>(1, args.transpose_b ? args.k : args.n);
  const int64_t tiles_m = (args.m - 1) / kTileRows + 1;
  const int64_t tiles_n = (args.n - 1) / kTileCols + 1;
  ThreadPool::global().parallel_for(tiles_m * tiles_n, 1, [&](int64_t begin, int64_t end) {
    for (int64_t tile = begin; tile < end; ++tile) {
      const int64_t row = tile / tiles_n * kTileRows;
      const int64_t col = tile % tiles_n * kTileCols;
      cblas_sgemm(
          CblasRowMajor,
          args.transpose_a ? CblasTrans : CblasNoTrans,
          args.transpose_b ? CblasTrans : CblasNoTrans,
          static_cast<blasint>(std::min(kTileRows, args.m - row)),
          static_cast<blasint>(std::min(kTileCols, args.n - col)),
          static_cast<blasint>(args.k),
          args.alpha,
          a.data() + (args.transpose_a ? row : row * lda),
          static_cast<blasint>(lda),
          b.data() + (args.transpose_b ? col * ldb : col),
          static_cast<blasint>(ldb),
          args.beta,
          c.data() + row * args.n + col,
          static_cast<blasint>(args.n)
      );
    }
  });
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
