#include "speculator/autograd/soft_cross_entropy.h"

#include <cmath>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/speculator/autograd/gradient_check.h"

namespace hone {
namespace {

using testing_speculator::Matrix;
using testing_speculator::random_matrix;

// Rows that sum to one.
Matrix distributions(int64_t rows, int64_t width, uint64_t seed) {
  Matrix m = random_matrix(rows, width, seed);
  for (int64_t r = 0; r < rows; ++r) {
    float total = 0;
    for (int64_t i = 0; i < width; ++i) {
      float& x = m.values[static_cast<size_t>(r * width + i)];
      x = std::exp(x);
      total += x;
    }
    for (int64_t i = 0; i < width; ++i) m.values[static_cast<size_t>(r * width + i)] /= total;
  }
  return m;
}

double reference(
    const Matrix& z,
    const Matrix& q,
    const std::vector<int32_t>& rows,
    const std::vector<float>& weights
) {
  double loss = 0;
  for (int64_t t = 0; t < z.rows; ++t) {
    const float* row = &z.values[static_cast<size_t>(t * z.cols)];
    double total = 0;
    for (int64_t v = 0; v < z.cols; ++v) total += std::exp(static_cast<double>(row[v]));
    for (int64_t v = 0; v < z.cols; ++v)
      loss -= static_cast<double>(weights[static_cast<size_t>(t)]) *
              static_cast<double>(
                  q.values[static_cast<size_t>(rows[static_cast<size_t>(t)] * z.cols + v)]
              ) *
              (static_cast<double>(row[v]) - std::log(total));
  }
  return loss;
}

TEST(SoftCrossEntropy, ValueAndGradient) {
  Matrix z = random_matrix(5, 11, 1, 2.0);
  const Matrix q = distributions(3, 11, 2);
  const std::vector<int32_t> rows = {2, 0, 0, 1, 2};
  const std::vector<float> weights = {1, 0.5F, 0, 1, 2};
  const float factor = 0.25F;
  std::vector<float> gradient(z.values.size());
  Tape tape;
  const Var raw = tape.parameter(z.values.data(), gradient.data(), 5, 11);
  const Var logits = scale(tape, raw, 1.0F);
  const SoftCrossEntropyResult result =
      soft_cross_entropy(tape, {logits, q.values.data(), 3, rows, weights, factor});
  const double expected = reference(z, q, rows, weights);
  EXPECT_NEAR(tape.value(result.loss)[0], factor * expected, 1e-5 * expected);
  EXPECT_NEAR(result.weighted_sum, expected, 1e-5 * expected);
  EXPECT_EQ(result.weight, 4.5);
  // Half the loss: the upstream gradient is not 1.
  tape.backward(scale(tape, result.loss, 0.5F));
  for (size_t i = 0; i < z.values.size(); ++i) {
    const float kept = z.values[i];
    z.values[i] = kept + 1e-3F;
    const double above = reference(z, q, rows, weights);
    z.values[i] = kept - 1e-3F;
    const double below = reference(z, q, rows, weights);
    z.values[i] = kept;
    EXPECT_NEAR(gradient[i], 0.5 * factor * (above - below) / 2e-3, 1e-4) << i;
  }
}

TEST(SoftCrossEntropy, MostProbableTokenIsTheLowestOfTheLargest) {
  const std::vector<float> z = {0, 3, 3, 1, /**/ 5, 4, 5, 5};
  const std::vector<float> q = {1, 0, 0, 0};
  Tape tape;
  const SoftCrossEntropyResult result =
      soft_cross_entropy(tape, {tape.constant(z.data(), 2, 4), q.data(), 1, {0, 0}, {1, 1}, 1.0F});
  EXPECT_EQ(result.argmax, (std::vector<int32_t>{1, 0}));
}

TEST(SoftCrossEntropy, RowsWithoutWeightMayNameNoTeacher) {
  const std::vector<float> z = {0, 1, 1, 0};
  const std::vector<float> q = {1, 0};
  Tape tape;
  const Var logits = tape.constant(z.data(), 2, 2);
  EXPECT_NO_THROW(soft_cross_entropy(tape, {logits, q.data(), 1, {0, -5}, {1, 0}, 1.0F}));
  EXPECT_THROW(
      soft_cross_entropy(tape, {logits, q.data(), 1, {0, 1}, {1, 1}, 1.0F}), InternalError
  );
  EXPECT_THROW(soft_cross_entropy(tape, {logits, q.data(), 1, {0}, {1, 1}, 1.0F}), InternalError);
}

}  // namespace
}  // namespace hone
