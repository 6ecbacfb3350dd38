// Rows and settings for training a tiny head on the toy target.
#pragma once

#include <string>
#include <vector>

#include "core/base/rng.h"
#include "speculator/data/draft_vocabulary.h"
#include "speculator/train/loop.h"
#include "tests/fixture/toy_target.h"

namespace hone::testing_speculator {

struct ToyTraining {
  fixture::ToyTarget target;
  Tensor table = target.embedding_table();
  RowSplit rows;
  std::vector<int32_t> vocabulary;
  Eagle3Config config;

  explicit ToyTraining(int32_t count = 120, int64_t draft_vocab = 20) {
    Rng rng(5);
    std::vector<TrainingRow> made;
    for (int32_t i = 0; i < count; ++i) {
      std::vector<int32_t> prompt;
      const uint64_t length = 3 + rng.below(6);
      for (uint64_t k = 0; k < length; ++k) prompt.push_back(static_cast<int32_t>(rng.below(24)));
      std::vector<int32_t> answer;
      int32_t before = prompt[prompt.size() - 2];
      int32_t last = prompt.back();
      const uint64_t said = 4 + rng.below(12);
      for (uint64_t k = 0; k < said; ++k) {
        const int32_t next = target.next(before, last);
        answer.push_back(next);
        before = last;
        last = next;
      }
      made.push_back(TrainingRow::make(std::to_string(i), prompt, answer));
    }
    rows = split_rows(std::move(made), 0.15);
    vocabulary = choose_draft_vocabulary(rows.train, 24, draft_vocab);
    config = eagle3_config_for(target.config(), {0, 2, 4}, draft_vocab);
  }

  [[nodiscard]] TrainData data() { return {&target, &table, &table, &rows, &vocabulary}; }

  [[nodiscard]] static TrainOptions options(int64_t steps) {
    TrainOptions options;
    options.steps = steps;
    options.batch_tokens = 128;
    options.ttt_steps = 3;
    options.rate.peak = 8e-3;
    options.checkpoint_every = 10;
    options.evaluate_every = 0;
    return options;
  }
};

}  // namespace hone::testing_speculator
