#include "speculator/autograd/ops.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/speculator/autograd/gradient_check.h"

namespace hone {
namespace {

using testing_speculator::expect_gradients;
using testing_speculator::Matrix;
using testing_speculator::random_matrix;

TEST(Ops, LinearMultipliesByTheTransposedWeight) {
  Tape tape;
  const std::vector<float> x = {1, 2, 3, 4, 5, 6};
  const std::vector<float> w = {1, 0, -1, 2, 1, 1};
  const Var y = linear(tape, tape.constant(x.data(), 2, 3), tape.constant(w.data(), 2, 3));
  const std::vector<float> expected = {-2, 7, -2, 19};
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(tape.value(y)[i], expected[i]);
}

TEST(Ops, LinearGradients) {
  expect_gradients(
      {random_matrix(5, 7, 1), random_matrix(3, 7, 2)},
      [](Tape& t, const std::vector<Var>& v) { return linear(t, v[0], v[1]); }
  );
}

TEST(Ops, LinearAddsWhenInputAndWeightAreUsedTwice) {
  expect_gradients(
      {random_matrix(4, 4, 3), random_matrix(4, 4, 4)},
      [](Tape& t, const std::vector<Var>& v) { return linear(t, linear(t, v[0], v[1]), v[1]); }
  );
}

TEST(Ops, ElementwiseGradients) {
  expect_gradients(
      {random_matrix(3, 5, 5), random_matrix(3, 5, 6)},
      [](Tape& t, const std::vector<Var>& v) {
        // Both inputs meet twice, so that gradients add up.
        return add(t, mul(t, v[0], v[1]), scale(t, add(t, v[0], v[1]), -0.5F));
      }
  );
}

TEST(Ops, SquareThroughMul) {
  expect_gradients({random_matrix(2, 6, 7)}, [](Tape& t, const std::vector<Var>& v) {
    return mul(t, v[0], v[0]);
  });
}

TEST(Ops, ConcatAndSliceMoveColumns) {
  Tape tape;
  const std::vector<float> a = {1, 2, 3, 4};
  const std::vector<float> b = {5, 6};
  const Var joined =
      concat_columns(tape, tape.constant(a.data(), 2, 2), tape.constant(b.data(), 2, 1));
  const std::vector<float> expected = {1, 2, 5, 3, 4, 6};
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(tape.value(joined)[i], expected[i]);
  const Var part = slice_columns(tape, joined, 1, 2);
  const std::vector<float> sliced = {2, 5, 4, 6};
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(tape.value(part)[i], sliced[i]);
}

TEST(Ops, ConcatAndSliceGradients) {
  expect_gradients(
      {random_matrix(4, 3, 8), random_matrix(4, 5, 9)},
      [](Tape& t, const std::vector<Var>& v) {
        const Var joined = concat_columns(t, v[0], v[1]);
        // The overlap [2, 4) gets two gradients.
        return concat_columns(t, slice_columns(t, joined, 0, 4), slice_columns(t, joined, 2, 6));
      }
  );
}

TEST(Ops, GatherRowsGradientsAddForRepeatedRows) {
  expect_gradients({random_matrix(4, 6, 10)}, [](Tape& t, const std::vector<Var>& v) {
    return add(t, gather_rows(t, v[0], {3, 0, 3, 3}), gather_rows(t, v[0], {1, 2, 0, 3}));
  });
}

TEST(Ops, RowsThatNobodyReadGetZero) {
  const Matrix table = random_matrix(3, 2, 11);
  std::vector<float> gradient(6, 0.0F);
  Tape tape;
  const Var x = tape.parameter(table.values.data(), gradient.data(), 3, 2);
  tape.backward(sum(tape, gather_rows(tape, x, {2, 2})));
  EXPECT_EQ(gradient, (std::vector<float>{0, 0, 0, 0, 2, 2}));
}

TEST(Ops, GradientsAddToWhatTheCallerHas) {
  const std::vector<float> x = {1, 2};
  std::vector<float> gradient = {10, 20};
  Tape tape;
  const Var v = tape.parameter(x.data(), gradient.data(), 1, 2);
  tape.backward(sum(tape, scale(tape, v, 3.0F)));
  EXPECT_EQ(gradient, (std::vector<float>{13, 23}));
}

TEST(Ops, RefuseShapesThatDoNotFit) {
  Tape tape;
  const std::vector<float> x(12, 1.0F);
  const Var a = tape.constant(x.data(), 3, 4);
  const Var b = tape.constant(x.data(), 4, 3);
  EXPECT_THROW(add(tape, a, b), InternalError);
  EXPECT_THROW(linear(tape, a, b), InternalError);
  EXPECT_THROW(concat_columns(tape, a, b), InternalError);
  EXPECT_THROW(slice_columns(tape, a, 2, 3), InternalError);
  EXPECT_THROW(gather_rows(tape, a, {3}), InternalError);
  EXPECT_THROW(gather_rows(tape, a, {-1}), InternalError);
}

}  // namespace
}  // namespace hone
