#include "speculator/autograd/strided_gemm.h"

#include <algorithm>
#include <vector>

#include "core/base/error.h"
#include "core/device/simd.h"

namespace hone {
namespace {

namespace simd = avx2;

constexpr int64_t kTileRows = 4;

// Rows [row, row + kRows) and up to 16 columns from `column` on.
template <int64_t kRows>
void tile(const StridedGemm& g, const float* b, int64_t ldb, int64_t row, int64_t column) {
  const int64_t width = std::min<int64_t>(simd::kLanes, g.n - column);
  const int64_t row_step = g.transpose_a ? 1 : g.lda;
  const int64_t k_step = g.transpose_a ? g.lda : 1;
  const float* a = g.a + row * row_step;
  simd::f32x16 sums[kRows];
  for (simd::f32x16& sum : sums) sum = simd::zero();
  for (int64_t k = 0; k < g.k; ++k) {
    const float* from = b + k * ldb + column;
    const simd::f32x16 x =
        width == simd::kLanes ? simd::load(from) : simd::load_partial(from, width);
    for (int64_t r = 0; r < kRows; ++r)
      sums[r] = simd::fma(simd::set1(a[r * row_step + k * k_step]), x, sums[r]);
  }
  const simd::f32x16 alpha = simd::set1(g.alpha);
  for (int64_t r = 0; r < kRows; ++r) {
    float* to = g.c + (row + r) * g.ldc + column;
    simd::f32x16 result = alpha * sums[r];
    if (g.accumulate) result = result + simd::load_partial(to, width);
    simd::store_partial(to, width, result);
  }
}

}  // namespace

void strided_gemm(const StridedGemm& g) {
  check(g.m >= 0 && g.n >= 0 && g.k >= 0, "gemm: negative size");
  check(
      g.lda >= (g.transpose_a ? g.m : g.k) && g.ldb >= (g.transpose_b ? g.k : g.n) && g.ldc >= g.n,
      "gemm: row stride below the row length"
  );
  const float* b = g.b;
  int64_t ldb = g.ldb;
  // Columns of op(B) must lie side by side.
  thread_local std::vector<float> turned;
  if (g.transpose_b) {
    ldb = g.n;
    turned.resize(static_cast<size_t>(g.k * g.n));
    for (int64_t j = 0; j < g.n; ++j)
      for (int64_t k = 0; k < g.k; ++k)
        turned[static_cast<size_t>(k * ldb + j)] = g.b[j * g.ldb + k];
    b = turned.data();
  }
  for (int64_t column = 0; column < g.n; column += simd::kLanes) {
    int64_t row = 0;
    for (; row + kTileRows <= g.m; row += kTileRows) tile<kTileRows>(g, b, ldb, row, column);
    for (; row < g.m; ++row) tile<1>(g, b, ldb, row, column);
  }
}

}  // namespace hone
