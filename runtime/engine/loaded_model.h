// A checkpoint ready for text: model, tokenizer, chat template and end tokens in one call.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/engine/engine.h"
#include "runtime/model/model.h"
#include "runtime/sample/sampler.h"
#include "runtime/text/chat_template.h"
#include "runtime/text/tokenizer.h"

namespace hone {

struct LoadedModel {
  std::filesystem::path folder;
  std::unique_ptr<Model> model;
  std::shared_ptr<const Tokenizer> tokenizer;
  std::shared_ptr<const ChatTemplate> chat_template;  // null when the checkpoint has none
  // End tokens of config.json and generation_config.json, without duplicates.
  std::vector<int32_t> stop_ids;
  // What generation_config.json asks for; greedy when it is absent or has no do_sample.
  SamplingParams default_sampling;

  // Prompt ids of a conversation; messages may have any of OpenAI's forms (normalize_messages).
  // Text of the messages and tools that spells a special token stays
  // ordinary text: only the template makes control tokens. Throws DataError when there is no chat
  // template, naming the folder.
  [[nodiscard]] std::vector<int32_t> encode_chat(const ChatInput& input) const;
  // Prompt ids of raw text: special tokens are parsed, and BOS added where the tokenizer's
  // post-processor does.
  [[nodiscard]] std::vector<int32_t> encode_text(std::string_view text) const;
  // A request with this model's end tokens and default sampling.
  [[nodiscard]] Request request(std::vector<int32_t> prompt) const;
};

// Throws DataError: config.json, tokenizer or weights missing or broken (the message names them).
LoadedModel load_model(const std::filesystem::path& folder, ModelOptions options = {});

}  // namespace hone
