#include "speculator/train/batch.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "core/format/bf16.h"
#include "tests/speculator/train/toy_training.h"

namespace hone {
namespace {

using testing_speculator::ToyTraining;

TEST(PackRows, EveryRowOnceInGroupsOfTheWantedSize) {
  const ToyTraining toy;
  for (const bool shuffle : {false, true}) {
    const auto groups = pack_rows(toy.rows.train, {.tokens = 50, .seed = 3, .shuffle = shuffle});
    std::set<size_t> seen;
    for (size_t g = 0; g < groups.size(); ++g) {
      int64_t starts = 0;
      for (const size_t row : groups[g]) {
        EXPECT_TRUE(seen.insert(row).second);
        EXPECT_LT(starts, 50);  // it was not full before this row
        starts += static_cast<int64_t>(toy.rows.train[row].starts().size());
      }
      if (g + 1 < groups.size()) {
        EXPECT_GE(starts, 50);
      }
    }
    EXPECT_EQ(seen.size(), toy.rows.train.size());
  }
}

TEST(PackRows, OrderIsAFunctionOfSeedAndEpoch) {
  const ToyTraining toy;
  const auto pack = [&](int64_t seed, int64_t epoch) {
    return pack_rows(toy.rows.train, {.tokens = 50, .seed = seed, .epoch = epoch});
  };
  EXPECT_EQ(pack(1, 4), pack(1, 4));
  EXPECT_NE(pack(1, 4), pack(1, 5));
  EXPECT_NE(pack(1, 4), pack(2, 4));
}

// Everything is compared with the rows' own ids: the feature of t, token t + 1 + k fed, token
// t + 2 + k expected, distribution of position t + 1 + k.
TEST(MakeBatch, ShiftsIdsTargetsAndMaskTogether) {
  ToyTraining toy;
  FeatureStore store(toy.target, toy.table, toy.config.taps, toy.rows.train, 1 << 24);
  const std::vector<size_t> group = {3, 0, 7};
  const TttBatch batch = make_batch(toy.rows.train, group, store, toy.vocabulary, 3);
  const auto features = store.get(group);
  ASSERT_EQ(batch.layout->sequences.size(), 3U);
  size_t first_target = 0;
  for (size_t s = 0; s < 3; ++s) {
    const TrainingRow& row = toy.rows.train[group[s]];
    const TttSequence& place = batch.layout->sequences[s];
    EXPECT_EQ(place.length, row.starts().back() + 1);
    for (int64_t t = 0; t < place.length; ++t) {
      const auto at = static_cast<size_t>(place.begin + t);
      EXPECT_EQ(batch.positions[at], t);
      EXPECT_EQ(batch.tokens[at], row.ids[static_cast<size_t>(t + 1)]);
      for (size_t i = 0; i < 48; ++i)
        ASSERT_EQ(
            batch.taps[at * 48 + i], bf16_decode(features[s]->taps[static_cast<size_t>(t) * 48 + i])
        );
    }
    for (int64_t a = 0; a < place.active_count; ++a) {
      const auto active = static_cast<size_t>(place.active_begin + a);
      const int64_t t = batch.layout->row[active] - place.begin;
      EXPECT_EQ(t, row.starts()[static_cast<size_t>(a)]);
      for (int64_t k = 0; k < 3; ++k) {
        const TttBatch::Step& step = batch.steps[static_cast<size_t>(k)];
        if (!row.supervised(t, k)) {
          EXPECT_EQ(step.weights[active], 0.0F);
          EXPECT_EQ(step.truth[active], -1);
          continue;
        }
        EXPECT_EQ(step.tokens[active], row.ids[static_cast<size_t>(t + 1 + k)]);
        EXPECT_EQ(step.truth[active], row.ids[static_cast<size_t>(t + 2 + k)]);
        const auto teacher = static_cast<size_t>(step.teacher[active]);
        // The target's most probable token there is what it said.
        EXPECT_EQ(batch.argmax[teacher], step.truth[active]);
        EXPECT_EQ(row.targets()[teacher - first_target], t + 1 + k);
        const bool covered =
            std::binary_search(toy.vocabulary.begin(), toy.vocabulary.end(), step.truth[active]);
        EXPECT_EQ(step.weights[active], covered ? 1.0F : 0.0F);
      }
    }
    first_target += row.targets().size();
  }
  EXPECT_EQ(batch.argmax.size(), first_target);
}

}  // namespace
}  // namespace hone
