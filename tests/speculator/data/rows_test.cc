#include "speculator/data/rows.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace hone {
namespace {

using Positions = std::vector<int64_t>;

TEST(Rows, AnswerIsMaskedIn) {
  const TrainingRow row = TrainingRow::make("c", {10, 11, 12}, {20, 21});
  EXPECT_EQ(row.ids, (std::vector<int32_t>{10, 11, 12, 20, 21}));
  EXPECT_EQ(row.mask, (std::vector<uint8_t>{0, 0, 0, 1, 1}));
}

// prompt p0 p1 p2, answer a3 a4 a5 a6. The engine's first chain starts when a3 is known: position 2
// (fed a3) drafts a4. What the published mask bug left untrained is just that first draft, and what
// it trained on instead is the row behind the end.
TEST(Rows, FirstDraftAfterThePromptIsTrainedAndNothingBehindTheEnd) {
  const TrainingRow row = TrainingRow::make("c", {0, 1, 2}, {3, 4, 5, 6});
  EXPECT_EQ(row.starts(), (Positions{2, 3, 4}));
  EXPECT_EQ(row.targets(), (Positions{3, 4, 5}));
  // Step 0: fed a3 a4 a5, predicts a4 a5 a6.
  EXPECT_FALSE(row.supervised(1, 0)
  );  // fed the prompt's last token: the target says a3, not a draft
  EXPECT_TRUE(row.supervised(2, 0));
  EXPECT_TRUE(row.supervised(4, 0));
  EXPECT_FALSE(row.supervised(5, 0));  // would predict what follows the end
  // Every further step loses one at the end and gains none at the beginning.
  EXPECT_TRUE(row.supervised(2, 2));
  EXPECT_FALSE(row.supervised(2, 3));
  EXPECT_FALSE(row.supervised(3, 2));
  EXPECT_FALSE(row.supervised(1, 1));
  EXPECT_FALSE(row.supervised(-1, 0));
}

TEST(Rows, ChainsDoNotCrossTurns) {
  TrainingRow row;
  row.ids = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  row.mask = {0, 0, 1, 1, 1, 0, 0, 1, 1, 0};
  EXPECT_EQ(row.starts(), (Positions{1, 2, 6}));
  EXPECT_TRUE(row.supervised(1, 1));
  EXPECT_FALSE(row.supervised(2, 1));  // the next token is the user's
  EXPECT_FALSE(row.supervised(1, 5));  // across the gap into the next answer
  EXPECT_FALSE(row.supervised(6, 1));
}

TEST(Rows, AnswersOfOneTokenHaveNothingToDraft) {
  EXPECT_TRUE(TrainingRow::make("c", {0, 1}, {2}).starts().empty());
  EXPECT_TRUE(TrainingRow::make("c", {0, 1}, {}).starts().empty());
  EXPECT_TRUE(TrainingRow::make("c", {}, {}).starts().empty());
}

TEST(Rows, SplitKeepsConversationsTogetherAndIsStable) {
  std::vector<TrainingRow> rows;
  for (int32_t i = 0; i < 2000; ++i)
    rows.push_back(TrainingRow::make(std::to_string(i / 2), {i}, {1, 2, 3}));
  rows.push_back(TrainingRow::make("no target", {0}, {1}));
  const RowSplit split = split_rows(rows, 0.1);
  EXPECT_EQ(split.train.size() + split.held_out.size(), 2000U);
  EXPECT_NEAR(static_cast<double>(split.held_out.size()), 200.0, 60.0);
  std::set<std::string> held;
  for (const TrainingRow& row : split.held_out) held.insert(row.conversation);
  for (const TrainingRow& row : split.train) EXPECT_FALSE(held.contains(row.conversation));
  // More conversations do not move the old ones.
  rows.erase(rows.begin(), rows.begin() + 1000);
  for (const TrainingRow& row : split_rows(rows, 0.1).held_out)
    EXPECT_TRUE(held.contains(row.conversation));
  EXPECT_TRUE(split_rows(rows, 0.0).held_out.empty());
  EXPECT_THROW(split_rows(rows, 1.0), UsageError);
}

}  // namespace
}  // namespace hone
