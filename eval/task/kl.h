// Task kl: both models predict every token of the same texts; how far are the distributions apart?
//
// Teacher-forced, so one early difference does not spoil the rest of a text. One KL figure holds
// far more information than one right-or-wrong answer: it sees what task scores cannot.
#pragma once

#include <cstdint>

#include "eval/task/corpus.h"
#include "eval/task/model_pair.h"

namespace hone {

struct KlOptions {
  CorpusOptions corpus;
  uint64_t seed = 0;   // of the bootstrap over documents
  int64_t worst = 20;  // most different tokens to list
  int64_t chunk = 0;   // logit rows held at once, per model; 0: what fits 32 Mi values
};

// A difference in tokens or vocabulary, or logits that are not numbers, give an invalid result, no
// exception. With the same model on both sides every distance is exactly 0.
TaskResult run_kl(const ModelPair& models, const KlOptions& options);

}  // namespace hone
