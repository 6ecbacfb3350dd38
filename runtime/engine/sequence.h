// One request on its way through the engine.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/cache/kv_cache.h"
#include "runtime/engine/engine.h"
#include "runtime/engine/stop_strings.h"

namespace hone {

// Owns the request's tokens, text and counters; the engine moves it between its queues.
class Sequence {
 public:
  struct Limits {
    int64_t max_positions = 0;
    int64_t max_repeats = 0;
  };
  Sequence(
      RequestId id,
      Request request,
      Engine::Listener listener,
      std::shared_ptr<const Tokenizer> tokenizer,
      Limits limits
  );

  [[nodiscard]] RequestId id() const { return id_; }
  [[nodiscard]] const Request& request() const { return request_; }
  // Prompt and generated tokens.
  [[nodiscard]] const std::vector<int32_t>& tokens() const { return tokens_; }
  // Tokens that the model has not processed yet. 1 while decoding.
  [[nodiscard]] int64_t pending() const;
  // Tokens that may still be generated.
  [[nodiscard]] int64_t remaining() const;
  [[nodiscard]] bool finished() const { return completion_.finish != FinishReason::kNone; }

  // A token the model chose, with the logits it came from. May finish the sequence.
  void append(int32_t token, std::span<const float> logits);
  void finish(FinishReason reason);
  void fail(std::string code, std::string message);
  // Gives up cache and proposer state.
  void preempt();

  // Tells the listener what is new since the last call, if anything is.
  void report();
  [[nodiscard]] Completion& completion() { return completion_; }

  std::optional<KvSequence> kv;                   // while running
  std::unique_ptr<ProposerState> proposer_state;  // while running, when there is a proposer
  bool cancelled = false;

 private:
  [[nodiscard]] double elapsed() const;
  void show(std::string_view text);

  RequestId id_;
  Request request_;
  Engine::Listener listener_;
  Limits limits_;
  std::vector<int32_t> tokens_;
  std::optional<StreamDecoder> decoder_;
  StopStrings stops_;
  Completion completion_;
  int64_t repeats_ = 0;
  size_t reported_tokens_ = 0;
  size_t reported_text_ = 0;
  bool reported_end_ = false;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace hone
