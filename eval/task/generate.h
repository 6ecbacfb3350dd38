// Greedy answers of one model to many prompts, in one batched run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/json/json.h"
#include "eval/metric/result.h"
#include "runtime/engine/loaded_model.h"

namespace hone {

struct GenerateOptions {
  int64_t max_tokens = 512;
  int max_batch = 32;
  std::string label;  // of the progress bar
};

// One answer. `text` keeps special tokens that the model wrote, except the one that ended it.
struct Answer {
  std::string text;
  std::vector<int32_t> ids;
  FinishReason finish = FinishReason::kNone;
  int32_t stop_id = -1;  // the end token, not in `ids`; -1: another end
  std::string error;     // why the engine ended it (kError)

  [[nodiscard]] bool cut() const { return finish == FinishReason::kLength; }
  [[nodiscard]] bool failed() const { return finish == FinishReason::kError; }
};

// Greedy, so that a second run gives the same bytes. In the order of `prompts`.
std::vector<Answer> generate_answers(
    LoadedModel& model,
    const std::vector<std::vector<int32_t>>& prompts,
    const GenerateOptions& options
);

// Adds the rates that every generating task reports: truncated, failed, empty, and identical text.
void add_output_rates(
    const std::vector<Answer>& reference, const std::vector<Answer>& candidate, TaskResult& task
);

// {"text", "tokens", "finish", "error"} for samples.jsonl.
Json answer_json(const Answer& answer);

}  // namespace hone
