// Task tools: does the model call the right tool with the right arguments, and only when it should?
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "eval/metric/tools.h"
#include "eval/task/generate.h"
#include "eval/task/model_pair.h"

namespace hone {

struct ToolsOptions {
  std::filesystem::path data;  // jsonl: {"messages", "tools", "expected": [{"name", "arguments"}]}
  int64_t limit = 0;           // first items; 0: all
  int64_t max_tokens = 512;
};

// One request. An empty `expected`: no call is right.
struct ToolItem {
  Json messages;
  Json tools;
  std::vector<ExpectedCall> expected;
};
// Throws DataError naming the item and the field.
std::vector<ToolItem> read_tool_items(const std::filesystem::path& path, int64_t limit);

// Scores answers of both sides, item by item. Sizes must agree.
TaskResult score_tools(
    const std::vector<ToolItem>& items,
    const std::vector<Answer>& reference,
    const std::vector<Answer>& candidate
);

// Asks both models and scores. A difference in the prompts gives an invalid result, no exception.
TaskResult run_tools(const ModelPair& models, const ToolsOptions& options);

}  // namespace hone
