#include "runtime/op/embedding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/format/load.h"
#include "tests/runtime/op/random_data.h"

namespace hone {
namespace {

TEST(Embedding, GathersRowsOfEveryDtype) {
  constexpr int64_t kVocab = 9;
  constexpr int64_t kDim = 21;
  const std::vector<float> values = testing_op::random_floats(kVocab * kDim, 1);
  const std::vector<int32_t> ids = {8, 0, 3, 3};
  for (const DType type : {DType::kF32, DType::kBF16, DType::kF16}) {
    Tensor table(type, {kVocab, kDim});
    store_floats(type, values.data(), kVocab * kDim, table.bytes());
    std::vector<float> wide(values.size());
    load_floats(type, table.bytes(), kVocab * kDim, wide.data());
    std::vector<float> y(ids.size() * kDim);
    embedding(table.view(), ids, y);
    for (size_t t = 0; t < ids.size(); ++t) {
      for (int64_t i = 0; i < kDim; ++i) {
        ASSERT_EQ(y[t * kDim + i], wide[ids[t] * kDim + i]);
      }
    }
  }
}

TEST(Embedding, BackwardAddsRepeatedIds) {
  std::vector<float> table(3 * 2, 1.0F);
  const std::vector<float> dy = {1.0F, 2.0F, 10.0F, 20.0F, 100.0F, 200.0F};
  embedding_backward(std::vector<int32_t>{2, 0, 2}, dy, 2, table);
  EXPECT_EQ(table, (std::vector<float>{11.0F, 21.0F, 1.0F, 1.0F, 102.0F, 203.0F}));
}

TEST(Embedding, RefusesWhatDoesNotFit) {
  const Tensor table(DType::kF32, {4, 2});
  std::vector<float> y(2);
  EXPECT_THAT(
      [&] { embedding(table.view(), std::vector<int32_t>{4}, y); },
      ::testing::ThrowsMessage<UsageError>(
          ::testing::AllOf(::testing::HasSubstr("token id 4"), ::testing::HasSubstr("of 4"))
      )
  );
  EXPECT_THROW(embedding(table.view(), std::vector<int32_t>{-1}, y), UsageError);
  EXPECT_THROW(embedding(table.view(), std::vector<int32_t>{1, 2}, y), UsageError);
  EXPECT_THROW(
      embedding(Tensor(DType::kI32, {4, 2}).view(), std::vector<int32_t>{1}, y), UsageError
  );
  std::vector<float> gradient(7);
  EXPECT_THROW(embedding_backward(std::vector<int32_t>{0}, y, 2, gradient), UsageError);
  EXPECT_THROW(
      embedding_backward(std::vector<int32_t>{9}, y, 2, std::span(gradient).first(6)), UsageError
  );
}

}  // namespace
}  // namespace hone
