// Prompts for training: conversations read from traces, rendered as the target is prompted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/engine/loaded_model.h"

namespace hone {

// One point of a conversation where the assistant speaks.
struct TrainingPrompt {
  int64_t index = 0;         // order in the file, the key of a resumed run
  std::string conversation;  // sha256 of messages and tools: what a split never divides
  std::vector<int32_t> ids;  // rendered, generation prompt included
};

struct PromptOptions {
  int64_t limit = 0;         // 0: all
  int64_t max_length = 768;  // prompts that leave no room for an answer below it are dropped
};

struct PromptSet {
  std::vector<TrainingPrompt> prompts;
  int64_t conversations = 0;
  int64_t duplicates = 0;  // prompts whose ids had been seen
  int64_t too_long = 0;
};

// Reads a .jsonl of {"messages": [...], "tools": [...]}, or of {"question": "..."} (the GSM8K form)
// or {"prompt": "..."}, which stand for one user message, and renders one prompt for each assistant
// turn (the messages before it) and one for a conversation that ends with another role: what the
// traces' own assistant said is replaced by the target's answer. Equal prompts are kept once.
// Throws DataError naming file and line; UsageError when nothing is left.
PromptSet read_prompts(
    const std::filesystem::path& path, const LoadedModel& target, const PromptOptions& options
);

}  // namespace hone
