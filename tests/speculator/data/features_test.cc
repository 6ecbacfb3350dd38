#include "speculator/data/features.h"

#include <gtest/gtest.h>

#include "core/format/bf16.h"
#include "tests/fixture/toy_target.h"

namespace hone {
namespace {

std::vector<TrainingRow> some_rows(const fixture::ToyTarget& target) {
  std::vector<TrainingRow> rows;
  for (int32_t i = 0; i < 6; ++i) {
    std::vector<int32_t> prompt = {i, static_cast<int32_t>(2 * i + 1), 5};
    std::vector<int32_t> answer;
    int32_t before = 1 + 2 * i;
    int32_t last = 5;
    for (int32_t k = 0; k < 4 + i; ++k) {
      const int32_t next = target.next(before, last);
      answer.push_back(next);
      before = last;
      last = next;
    }
    prompt[1] = 1 + 2 * i;
    rows.push_back(TrainingRow::make(std::to_string(i), prompt, answer));
  }
  return rows;
}

TEST(Features, HoldTapsFinalStatesAndTheTargetsTokens) {
  fixture::ToyTarget target;
  const std::vector<TrainingRow> rows = some_rows(target);
  FeatureStore store(target, target_lm_head(target), {0, 3}, rows, 1 << 20);
  const std::vector<size_t> all = {4, 0};
  const auto features = store.get(all);
  const RowFeatures& f = *features[0];
  const TrainingRow& row = rows[4];
  // Prompt of 3, answer of 8: starts 2 .. 8, targets 3 .. 9.
  ASSERT_EQ(f.taps.size(), 9U * 2 * 16);
  ASSERT_EQ(f.finals.size(), 7U * 16);
  ASSERT_EQ(f.argmax.size(), 7U);
  const Tensor table = target.embedding_table();
  for (size_t t = 0; t < 9; ++t)
    for (size_t i = 0; i < 16; ++i) {
      const float last = table.as<float>()[static_cast<size_t>(row.ids[t]) * 16 + i];
      const int32_t earlier = t == 0 ? 0 : row.ids[t - 1];
      const float before = table.as<float>()[static_cast<size_t>(earlier) * 16 + (i + 5) % 16];
      EXPECT_EQ(f.taps[t * 32 + i], bf16_encode(last));
      EXPECT_EQ(f.taps[t * 32 + 16 + i], bf16_encode(last + 3.0F / 6.0F * before));
    }
  // The answers follow the target's rule, so its most probable token is the row's next one.
  for (size_t k = 0; k < 7; ++k) EXPECT_EQ(f.argmax[k], row.ids[4 + k]);
}

TEST(Features, AreTheSameWhetherKeptOrNot) {
  fixture::ToyTarget target;
  const std::vector<TrainingRow> rows = some_rows(target);
  FeatureStore keeps(target, target_lm_head(target), {0, 2, 4}, rows, 1 << 20);
  FeatureStore forgets(target, target_lm_head(target), {0, 2, 4}, rows, 0);
  keeps.fill();
  EXPECT_EQ(keeps.kept_rows(), 6);
  EXPECT_GT(keeps.kept_bytes(), 0);
  const std::vector<size_t> order = {5, 1, 3};
  for (int round = 0; round < 2; ++round) {
    const auto a = keeps.get(order);
    const auto b = forgets.get(order);
    for (size_t i = 0; i < order.size(); ++i) {
      EXPECT_EQ(a[i]->taps, b[i]->taps);
      EXPECT_EQ(a[i]->finals, b[i]->finals);
      EXPECT_EQ(a[i]->argmax, b[i]->argmax);
    }
  }
  EXPECT_EQ(forgets.kept_rows(), 0);
}

TEST(Features, KeepsNoMoreThanTheLimit) {
  fixture::ToyTarget target;
  const std::vector<TrainingRow> rows = some_rows(target);
  FeatureStore all(target, target_lm_head(target), {0, 2, 4}, rows, 1 << 20);
  all.fill();
  FeatureStore half(target, target_lm_head(target), {0, 2, 4}, rows, all.kept_bytes() / 2);
  half.fill();
  EXPECT_LE(half.kept_bytes(), all.kept_bytes() / 2);
  EXPECT_GT(half.kept_rows(), 0);
  EXPECT_LT(half.kept_rows(), 6);
}

}  // namespace
}  // namespace hone
