#include "speculator/autograd/transformer_ops.h"

#include <cmath>
#include <memory>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/speculator/autograd/gradient_check.h"

namespace hone {
namespace {

using testing_speculator::expect_gradients;
using testing_speculator::Matrix;
using testing_speculator::random_matrix;

std::shared_ptr<const RopeRows> angles(int64_t head_dim, std::vector<int64_t> positions) {
  return std::make_shared<const RopeRows>(rope_rows(rope_inv_freq(head_dim, 10000.0), positions));
}

TEST(TransformerOps, RmsNormGradients) {
  expect_gradients(
      {random_matrix(6, 19, 1), random_matrix(1, 19, 2)},
      [](Tape& t, const std::vector<Var>& v) { return rms_norm(t, v[0], v[1], 1e-5F); }
  );
}

TEST(TransformerOps, RmsNormGradientsAddUp) {
  // The input and the weight are used twice, as hidden states are (norm and residual).
  expect_gradients(
      {random_matrix(3, 8, 3), random_matrix(1, 8, 4)},
      [](Tape& t, const std::vector<Var>& v) {
        const Var once = rms_norm(t, v[0], v[1], 1e-5F);
        return add(t, add(t, v[0], once), rms_norm(t, once, v[1], 1e-5F));
      }
  );
}

TEST(TransformerOps, RopeRotatesHalvesByPosition) {
  Tape tape;
  const Matrix x = random_matrix(1, 8, 5);
  const Var y = rope(tape, tape.constant(x.values.data(), 1, 8), angles(4, {7}), 4);
  for (size_t head = 0; head < 2; ++head)
    for (size_t i = 0; i < 2; ++i) {
      const double angle = 7.0 * std::pow(10000.0, -static_cast<double>(2 * i) / 4.0);
      const double low = x.values[head * 4 + i];
      const double high = x.values[head * 4 + i + 2];
      EXPECT_NEAR(
          tape.value(y)[head * 4 + i], low * std::cos(angle) - high * std::sin(angle), 1e-6
      );
      EXPECT_NEAR(
          tape.value(y)[head * 4 + i + 2], high * std::cos(angle) + low * std::sin(angle), 1e-6
      );
    }
}

TEST(TransformerOps, RopeGradients) {
  expect_gradients({random_matrix(4, 12, 6)}, [](Tape& t, const std::vector<Var>& v) {
    return rope(t, v[0], angles(6, {0, 3, 3, 100}), 6);
  });
}

TEST(TransformerOps, SiluMulGradients) {
  expect_gradients(
      {random_matrix(4, 9, 7, 2.0), random_matrix(4, 9, 8)},
      [](Tape& t, const std::vector<Var>& v) { return silu_mul(t, v[0], v[1]); }
  );
  expect_gradients({random_matrix(2, 5, 9)}, [](Tape& t, const std::vector<Var>& v) {
    return silu_mul(t, v[0], v[0]);
  });
}

TEST(TransformerOps, RefuseShapesThatDoNotFit) {
  Tape tape;
  const std::vector<float> x(12, 1.0F);
  const Var a = tape.constant(x.data(), 3, 4);
  const Var w = tape.constant(x.data(), 1, 3);
  EXPECT_THROW(rms_norm(tape, a, w, 1e-5F), InternalError);
  EXPECT_THROW(rope(tape, a, angles(4, {1, 2}), 4), InternalError);
  EXPECT_THROW(silu_mul(tape, a, w), InternalError);
}

}  // namespace
}  // namespace hone
