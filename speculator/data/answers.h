// The target answers the training prompts itself: a head learns what it will be asked to predict.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "runtime/engine/loaded_model.h"
#include "speculator/data/prompts.h"
#include "speculator/data/rows.h"

namespace hone {

struct AnswerOptions {
  int64_t max_new_tokens = 256;
  int64_t max_length = 768;  // of prompt and answer together
  double temperature = 0;    // 0: greedy
  int64_t seed = 0;          // each prompt has its own draws, whatever the batch
  int batch = 32;
};

// One row for each prompt, in their order. Answers are appended to `journal` (jsonl) as they come;
// a later call with the same target, prompts and options goes on from there, and the rows are the
// same as without the interruption. A journal of other inputs is replaced. Shows progress; throws
// Cancelled between steps.
std::vector<TrainingRow> answer_prompts(
    LoadedModel& target,
    const std::vector<TrainingPrompt>& prompts,
    const AnswerOptions& options,
    const std::filesystem::path& journal
);

}  // namespace hone
