#include "runtime/op/sgemm.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/reference/ops.h"
#include "tests/reference/tolerance.h"
#include "tests/runtime/op/random_data.h"

namespace hone {
namespace {

using testing_op::Environment;
using testing_op::first_difference;
using testing_op::random_floats;

// op(A) [m, k] as stored, transposed or not.
std::vector<float> stored(const std::vector<float>& a, int64_t rows, int64_t cols, bool transpose) {
  if (!transpose) return a;
  std::vector<float> t(a.size());
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < cols; ++j) t[j * rows + i] = a[i * cols + j];
  }
  return t;
}

TEST(Sgemm, AgreesWithTheReferenceInEveryForm) {
  // More than one tile in each direction, with remainders.
  constexpr int64_t kM = 131;
  constexpr int64_t kN = 517;
  constexpr int64_t kK = 19;
  const std::vector<float> a = random_floats(kM * kK, 1);
  const std::vector<float> b_transposed = random_floats(kN * kK, 2);
  const std::vector<float> c = random_floats(kM * kN, 3);
  reference::Doubles norms;
  const reference::Doubles product = reference::matmul(
      reference::to_double(a), reference::to_double(b_transposed), kN, kK, &norms
  );
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      SgemmArgs args;
      args.m = kM;
      args.n = kN;
      args.k = kK;
      args.transpose_a = transpose_a;
      args.transpose_b = transpose_b;
      args.alpha = 0.5F;
      args.beta = -2.0F;
      std::vector<float> out = c;
      sgemm(
          args,
          stored(a, kM, kK, transpose_a),
          transpose_b ? b_transposed : stored(b_transposed, kN, kK, true),
          out
      );
      for (size_t i = 0; i < out.size(); ++i) {
        const double kept = -2.0 * static_cast<double>(c[i]);
        ASSERT_NEAR(
            out[i],
            0.5 * product[i] + kept,
            reference::dot_tolerance(kK + 32, norms[i] + std::fabs(kept))
        );
      }
    }
  }
}

TEST(Sgemm, DoesNotDependOnThreadsOrIsa) {
  constexpr int64_t kIn = 1096;  // more than one block
  const std::vector<float> x = random_floats(600 * kIn, 4);
  const std::vector<float> w = random_floats(70 * kIn, 5);
  const std::vector<float> dy = random_floats(600 * 70, 6);
  std::vector<std::vector<float>> expected(3);
  const auto run = [&](std::vector<std::vector<float>>& out) {
    out[0].assign(600 * 70, NAN);  // overwritten, not multiplied by 0
    out[1].assign(x.size(), NAN);
    out[2].assign(w.size(), 1.0F);
    linear_forward(x, w, kIn, out[0]);
    linear_backward_input(dy, w, kIn, out[1]);
    linear_backward_weight(dy, x, kIn, out[2]);
  };
  {
    const Environment environment(CpuIsa::kAvx2, 1);
    run(expected);
  }
  for (const CpuIsa isa : testing_op::cpu_isas()) {
    for (const int threads : {1, 2, 3}) {
      const Environment environment(isa, threads);
      std::vector<std::vector<float>> found(3);
      run(found);
      for (size_t i = 0; i < 3; ++i) EXPECT_EQ(first_difference(found[i], expected[i]), -1) << i;
    }
  }
}

// The forward product of training is that of inference, bit for bit.
TEST(Sgemm, LinearForwardEqualsMatmul) {
  const std::vector<float> x = random_floats(20 * 100, 7);
  const std::vector<float> w = random_floats(33 * 100, 8);
  std::vector<float> trained(20 * 33);
  std::vector<float> served(trained.size());
  linear_forward(x, w, 100, trained);
  matmul(LinearWeight::dense(testing_op::float_tensor(w, {33, 100})), x, served);
  EXPECT_EQ(first_difference(trained, served), -1);
}

TEST(Sgemm, GradientsOfALinearLayer) {
  constexpr int64_t kRows = 6;
  constexpr int64_t kIn = 10;
  constexpr int64_t kOut = 7;
  const std::vector<float> x = random_floats(kRows * kIn, 6);
  const std::vector<float> w = random_floats(kOut * kIn, 7);
  const std::vector<float> dy = random_floats(kRows * kOut, 8);
  std::vector<float> dx(x.size());
  std::vector<float> dw(w.size(), 1.0F);
  linear_backward_input(dy, w, kIn, dx);
  linear_backward_weight(dy, x, kIn, dw);
  for (int64_t r = 0; r < kRows; ++r) {
    for (int64_t i = 0; i < kIn; ++i) {
      double sum = 0;
      for (int64_t o = 0; o < kOut; ++o) {
        sum += static_cast<double>(dy[r * kOut + o]) * static_cast<double>(w[o * kIn + i]);
      }
      EXPECT_NEAR(dx[r * kIn + i], sum, reference::dot_tolerance(kOut, 20.0));
    }
  }
  for (int64_t o = 0; o < kOut; ++o) {
    for (int64_t i = 0; i < kIn; ++i) {
      double sum = 1.0;  // accumulated into
      for (int64_t r = 0; r < kRows; ++r) {
        sum += static_cast<double>(dy[r * kOut + o]) * static_cast<double>(x[r * kIn + i]);
      }
      EXPECT_NEAR(dw[o * kIn + i], sum, reference::dot_tolerance(kRows + 16, 20.0));
    }
  }
}

TEST(Sgemm, RefusesWhatDoesNotFit) {
  std::vector<float> a(6);
  std::vector<float> c(4);
  SgemmArgs args;
  args.m = 2;
  args.n = 2;
  args.k = 3;
  EXPECT_NO_THROW(sgemm(args, a, a, c));
  EXPECT_THROW(sgemm(args, c, a, c), UsageError);
  EXPECT_THROW(sgemm(args, a, a, a), UsageError);
  EXPECT_THROW(linear_forward(a, c, 3, c), UsageError);
  args.k = 0;  // an empty sum
  std::fill(c.begin(), c.end(), 3.0F);
  sgemm(args, {}, {}, c);
  EXPECT_EQ(c, std::vector<float>(4, 0.0F));
  args.k = 3;
  args.m = 0;
  EXPECT_NO_THROW(sgemm(args, {}, a, {}));
}

}  // namespace
}  // namespace hone
