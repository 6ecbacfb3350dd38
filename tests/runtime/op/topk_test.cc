#include "runtime/op/topk.h"

#include <algorithm>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/runtime/op/random_data.h"

namespace hone {
namespace {

TEST(TopK, EqualsAStableSort) {
  for (const int64_t dim : {1, 5, 16, 40, 3001}) {
    constexpr int64_t kRows = 3;
    std::vector<float> x = testing_op::random_floats(static_cast<size_t>(kRows * dim), 1);
    for (float& value : x) value = std::round(value * 8.0F);  // many ties
    for (const int64_t k : {int64_t{1}, std::min<int64_t>(7, dim), dim}) {
      const TopK top = top_k(x, dim, k);
      for (int64_t row = 0; row < kRows; ++row) {
        std::vector<int32_t> order(static_cast<size_t>(dim));
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
          return x[row * dim + a] > x[row * dim + b];
        });
        for (int64_t i = 0; i < k; ++i) {
          ASSERT_EQ(top.ids[row * k + i], order[i]) << "dim " << dim << " k " << k;
          ASSERT_EQ(top.values[row * k + i], x[row * dim + order[i]]);
        }
      }
    }
  }
}

TEST(TopK, TakesInfinities) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  std::vector<float> x(40, -kInf);
  x[33] = 1.0F;
  x[20] = kInf;
  const TopK top = top_k(x, 40, 3);
  EXPECT_EQ(top.ids, (std::vector<int32_t>{20, 33, 0}));
}

TEST(TopK, NamesNanAndBadSizes) {
  for (const size_t at : {0, 3, 17, 39}) {
    std::vector<float> x(80, 1.0F);
    x[40 + at] = NAN;
    EXPECT_THAT(
        [&] { top_k(x, 40, 2); },
        ::testing::ThrowsMessage<DataError>(
            ::testing::HasSubstr("value " + std::to_string(at) + " of row 1")
        )
    );
  }
  const std::vector<float> x(10);
  EXPECT_THROW(top_k(x, 5, 6), UsageError);
  EXPECT_THROW(top_k(x, 5, 0), UsageError);
  EXPECT_THROW(top_k(x, 3, 1), UsageError);
}

}  // namespace
}  // namespace hone
