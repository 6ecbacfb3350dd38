// What generate and chat share: the model with its engine, and the flags that say how to sample.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "runtime/engine/engine.h"
#include "runtime/engine/loaded_model.h"

namespace hone {

// Flags; what is not given comes from the model's generation_config.json.
struct TextFlags {
  std::string model;
  std::string profile = "exact";
  std::string draft;
  bool allow_other_target = false;
  int draft_tokens = 4;
  int64_t max_tokens = 256;
  std::optional<float> temperature;
  std::optional<int32_t> top_k;
  std::optional<float> top_p;
  std::optional<float> min_p;
  std::optional<uint64_t> seed;
  std::vector<std::string> stop;
};
// Adds MODEL and the flags above. `flags` must outlive `command`.
void add_text_flags(CLI::App& command, TextFlags& flags);

// A loaded model behind an engine, with or without a draft head.
class TextEngine {
 public:
  // Throws as load_model and load_eagle3_proposer.
  explicit TextEngine(const TextFlags& flags);

  [[nodiscard]] const LoadedModel& model() const { return model_; }
  [[nodiscard]] bool drafts() const { return drafts_; }
  // A request as the flags say. Sampling without --seed draws one, so that every text can be made
  // again.
  [[nodiscard]] Request request(std::vector<int32_t> prompt) const;
  // Runs one request to its end. `on_text` (may be null) gets new text as it comes. Ctrl-C ends the
  // request with kCancelled.
  Completion run(Request request, const std::function<void(std::string_view)>& on_text);

 private:
  TextFlags flags_;
  LoadedModel model_;
  std::unique_ptr<Engine> engine_;
  bool drafts_ = false;
};

// "63 tokens in 0.52 s (121.2 tokens/s), 2.7 tokens per verification, finish: stop".
std::string describe(const Completion& completion, bool drafts);

}  // namespace hone
