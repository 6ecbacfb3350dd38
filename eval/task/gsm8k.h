// Task gsm8k: word problems in the format of the GSM8K data set, zero-shot chat.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "eval/task/generate.h"
#include "eval/task/model_pair.h"

namespace hone {

struct Gsm8kOptions {
  std::filesystem::path data;  // jsonl: {"question", "answer"} with the number after "#### "
  int64_t limit = 0;           // first items; 0: all
  int64_t max_tokens = 512;
  std::string instruction;  // appended to each question after a blank line; empty: nothing
};

// One problem.
struct MathItem {
  std::string question;
  std::string answer;  // the whole solution
};
std::vector<MathItem> read_math_items(const std::filesystem::path& path, int64_t limit);

// Scores answers of both sides, item by item. Sizes must agree.
TaskResult score_gsm8k(
    const std::vector<MathItem>& items,
    const std::vector<Answer>& reference,
    const std::vector<Answer>& candidate
);

// Asks both models and scores. A difference in the prompts gives an invalid result, no exception.
TaskResult run_gsm8k(const ModelPair& models, const Gsm8kOptions& options);

}  // namespace hone
