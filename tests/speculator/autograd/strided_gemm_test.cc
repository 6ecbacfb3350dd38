#include "speculator/autograd/strided_gemm.h"

#include <cmath>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/speculator/autograd/gradient_check.h"

namespace hone {
namespace {

using testing_speculator::Matrix;
using testing_speculator::random_matrix;

// Every transposition, remainders of tiles, padding between rows, with and without accumulation.
TEST(StridedGemm, IsTheProductInTheStatedOrder) {
  for (const bool ta : {false, true})
    for (const bool tb : {false, true})
      for (const bool accumulate : {false, true})
        for (const int64_t m : {1, 4, 7})
          for (const int64_t n : {1, 16, 21, 48})
            for (const int64_t k : {0, 1, 33}) {
              const Matrix a = random_matrix(ta ? k : m, (ta ? m : k) + 3, 1);
              const Matrix b = random_matrix(tb ? n : k, (tb ? k : n) + 2, 2);
              Matrix c = random_matrix(m, n + 5, 3);
              const Matrix before = c;
              StridedGemm g{.transpose_a = ta, .transpose_b = tb, .m = m, .n = n, .k = k};
              g.alpha = 0.3F;
              g.a = a.values.data();
              g.lda = a.cols;
              g.b = b.values.data();
              g.ldb = b.cols;
              g.accumulate = accumulate;
              g.c = c.values.data();
              g.ldc = c.cols;
              strided_gemm(g);
              for (int64_t i = 0; i < m; ++i)
                for (int64_t j = 0; j < n + 5; ++j) {
                  const auto at = static_cast<size_t>(i * c.cols + j);
                  if (j >= n) {
                    ASSERT_EQ(c.values[at], before.values[at]);  // the padding
                    continue;
                  }
                  float sum = 0;
                  for (int64_t x = 0; x < k; ++x) {
                    const int64_t in_a = ta ? x * a.cols + i : i * a.cols + x;
                    const int64_t in_b = tb ? j * b.cols + x : x * b.cols + j;
                    sum = std::fma(
                        a.values[static_cast<size_t>(in_a)],
                        b.values[static_cast<size_t>(in_b)],
                        sum
                    );
                  }
                  const float expected = 0.3F * sum + (accumulate ? before.values[at] : 0.0F);
                  ASSERT_EQ(c.values[at], expected) << m << " " << n << " " << k;
                }
            }
}

TEST(StridedGemm, RefusesOverlappingRows) {
  const std::vector<float> x(16);
  std::vector<float> y(16);
  StridedGemm g{.m = 4, .n = 4, .k = 4, .a = x.data(), .lda = 3, .b = x.data(), .ldb = 4};
  g.c = y.data();
  g.ldc = 4;
  EXPECT_THROW(strided_gemm(g), InternalError);
}

}  // namespace
}  // namespace hone
