// Texts that both models read token by token.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "eval/task/model_pair.h"

namespace hone {

// ids[scored_from ..] are predicted and compared, each from all tokens before it; scored_from >= 1.
struct TeacherDocument {
  std::vector<int32_t> ids;
  int64_t scored_from = 1;
};

struct CorpusOptions {
  std::filesystem::path data;
  int64_t skip = 0;          // lines left out at the beginning (seen in calibration)
  int64_t limit = 0;         // documents after those; 0: all
  int64_t max_tokens = 512;  // of an answer that the reference gives
  int64_t window = 512;      // tokens of a document cut from plain text
};

struct TeacherCorpus {
  std::vector<TeacherDocument> documents;
  DataSource data;
  std::string mismatch;  // the two models read the texts differently: see PairedPrompts
};

// A .jsonl file, one document a line:
//   {"messages": [...], "tools": [...]}  rendered with the chat template. When the last message is
//                    an assistant's, that answer is scored; otherwise the reference first answers
//                    greedily, and its answer with the end of the turn is scored.
//   {"text": "..."}  plain text, all tokens but the first scored, cut into windows.
// Any other file is one plain text. Throws DataError naming the line and field.
TeacherCorpus read_corpus(const ModelPair& models, const CorpusOptions& options);

}  // namespace hone
