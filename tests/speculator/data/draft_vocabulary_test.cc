#include "speculator/data/draft_vocabulary.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace hone {
namespace {

using Ids = std::vector<int32_t>;

TEST(DraftVocabulary, TakesWhatTheAssistantSaysMost) {
  // Said: 7 three times, 5 twice, 3 and 4 once. Prompts say 9 most of all.
  const std::vector<TrainingRow> rows = {
      TrainingRow::make("a", {9, 9, 9, 9, 1}, {7, 7, 5, 4}),
      TrainingRow::make("b", {9, 2, 2}, {7, 5, 3})};
  EXPECT_EQ(choose_draft_vocabulary(rows, 12, 2), (Ids{5, 7}));
  EXPECT_EQ(choose_draft_vocabulary(rows, 12, 3), (Ids{3, 5, 7}));  // a tie: the lower id
  EXPECT_EQ(choose_draft_vocabulary(rows, 12, 5), (Ids{3, 4, 5, 7, 9}));
  EXPECT_EQ(choose_draft_vocabulary(rows, 12, 8), (Ids{0, 1, 2, 3, 4, 5, 7, 9}));
  EXPECT_EQ(choose_draft_vocabulary(rows, 12, 12).size(), 12U);
  EXPECT_THROW(choose_draft_vocabulary(rows, 12, 13), UsageError);
  EXPECT_THROW(choose_draft_vocabulary(rows, 12, 0), UsageError);
}

TEST(DraftVocabulary, CoverageCountsTheAssistantsTokens) {
  const std::vector<TrainingRow> rows = {TrainingRow::make("a", {1, 1}, {7, 7, 5, 4})};
  EXPECT_DOUBLE_EQ(vocabulary_coverage(rows, {7}), 0.5);
  EXPECT_DOUBLE_EQ(vocabulary_coverage(rows, {1}), 0.0);
  EXPECT_DOUBLE_EQ(vocabulary_coverage(rows, {4, 5, 7}), 1.0);
}

}  // namespace
}  // namespace hone
