#include "core/format/row_slab.h"

#include <gtest/gtest.h>

#include "tests/core/format/isa_param.h"
#include "tests/core/format/matrix_data.h"

namespace hone {
namespace {

class RowSlabTest : public IsaTest {};

TEST_P(RowSlabTest, AmaxIsTheLargestMagnitudeForEveryTypeAndThreadCount) {
  for (const DType type : {DType::kBF16, DType::kF16, DType::kF32}) {
    const Tensor matrix = random_matrix(type, 37, 101, 3);
    double expected = 0;
    for (const double x : exact_values(matrix).values) expected = std::max(expected, std::fabs(x));
    for (const int threads : {1, 2, 5}) {
      ThreadPool pool(threads);
      const AmaxResult result = slab_amax(RowSlab::of(matrix.view()), pool);
      EXPECT_FALSE(result.bad);
      EXPECT_EQ(result.amax, expected);
    }
  }
}

TEST_P(RowSlabTest, TheFirstBadElementIsReportedByItsPlaceInTheTensor) {
  Tensor matrix = random_matrix(DType::kF32, 400, 700, 4);
  const std::span<float> values = matrix.as<float>();
  values[390 * 700 + 3] = NAN;
  values[211 * 700 + 650] = -INFINITY;
  values[211 * 700 + 699] = NAN;
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    const AmaxResult result = slab_amax(RowSlab::of(matrix.view()).slice(200, 200), pool);
    ASSERT_TRUE(result.bad);
    EXPECT_EQ(result.bad->row, 211);
    EXPECT_EQ(result.bad->col, 650);
    EXPECT_EQ(result.bad->value, -INFINITY);
  }
}

TEST_P(RowSlabTest, EmptySlabsHaveAmaxZero) {
  ThreadPool pool(2);
  EXPECT_EQ(slab_amax(RowSlab::of(Tensor(DType::kBF16, {0, 16}).view()), pool).amax, 0.0F);
  EXPECT_EQ(slab_amax(RowSlab::of(Tensor(DType::kBF16, {4, 0}).view()), pool).amax, 0.0F);
}

TEST_P(RowSlabTest, WrongTensorsAndRangesAreRefused) {
  EXPECT_THROW(RowSlab::of(Tensor(DType::kU8, {4, 4}).view()), UsageError);
  EXPECT_THROW(RowSlab::of(Tensor(DType::kF32, {4}).view()), UsageError);
  const Tensor matrix(DType::kF32, {4, 4});
  const RowSlab slab = RowSlab::of(matrix.view());
  EXPECT_THROW((void)slab.slice(3, 2), UsageError);
  EXPECT_THROW((void)slab.slice(-1, 1), UsageError);
  EXPECT_EQ(slab.slice(4, 0).rows, 0);
}

HONE_INSTANTIATE_ISA(RowSlabTest);

}  // namespace
}  // namespace hone
