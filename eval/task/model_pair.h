// The two sides of a comparison.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "eval/metric/result.h"
#include "runtime/engine/loaded_model.h"

namespace hone {

// Borrowed; both outlive every task.
struct ModelPair {
  LoadedModel& reference;
  LoadedModel& candidate;
};

// What a report says about a checkpoint. `name` is the last part of `folder` unless given.
ModelInfo describe_model(const LoadedModel& loaded, std::string name = {});

// Prompts that both sides were shown to read alike.
struct PairedPrompts {
  std::vector<std::vector<int32_t>> ids;
  std::string mismatch;  // not empty: the first difference, and `ids` is incomplete
};

// Renders and encodes every conversation with both models and compares the token ids: a difference
// in template, BOS or tokenizer moves scores more than quantization does. `source` names the data.
// Throws DataError naming the item when a prompt leaves no room for an answer in either context.
PairedPrompts encode_for_both(
    const ModelPair& models, const std::vector<ChatInput>& inputs, const std::string& source
);

// Compares the ids of one prompt; empty when equal, otherwise what differs and where.
std::string describe_mismatch(
    std::span<const int32_t> reference, std::span<const int32_t> candidate, const ModelPair& models
);

// Name, hash and number of used items of a data file. Throws DataError when it is missing.
DataSource describe_data(const std::filesystem::path& path, int64_t items);

// The first `limit` documents of a jsonl file (limit <= 0: all). Throws DataError when there is
// none.
std::vector<Json> read_items(const std::filesystem::path& path, int64_t limit);

}  // namespace hone
