// The calibration corpus: conversations or text, as token sequences.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/engine/loaded_model.h"

namespace hone {

struct CorpusLimits {
  int64_t max_tokens = 32768;   // over all sequences; reading stops there
  int64_t max_length = 1024;    // of one sequence; longer ones are cut (text is split)
  int64_t answer_tokens = 128;  // greedy answer added to conversations that end with a user turn
};

struct Corpus {
  std::vector<std::vector<int32_t>> sequences;  // each at least two tokens long
  [[nodiscard]] int64_t tokens() const;
  // sha256 of lengths and ids.
  [[nodiscard]] std::string hash() const;
};

// Reads `path`: *.jsonl with one {"messages": [...], "tools": [...]} or {"text": "..."} a line,
// anything else as plain text cut into sequences of max_length. Conversations without an answer are
// answered by the model itself, so that the activations are those of real traffic. Throws DataError
// naming file and line; UsageError when nothing is left.
Corpus load_corpus(
    const std::filesystem::path& path, LoadedModel& model, const CorpusLimits& options
);

}  // namespace hone
