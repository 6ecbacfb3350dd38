// Continuous batching over one model: requests come and go, every step is one forward pass.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/model/model.h"
#include "runtime/sample/sampler.h"
#include "runtime/spec/proposer.h"
#include "runtime/text/tokenizer.h"

namespace hone {

enum class FinishReason : uint8_t { kNone, kStop, kLength, kCancelled, kError };
std::string_view finish_reason_name(FinishReason reason);

// One generation request.
struct Request {
  std::vector<int32_t> prompt;
  SamplingParams sampling;
  uint32_t choice = 0;  // index among n choices of one prompt; keys the draws
  int64_t max_tokens = 256;
  std::vector<std::string> stop;  // stop strings; the text ends before the match
  std::vector<int32_t> stop_ids;  // end tokens (not part of the text)
  bool ignore_stop_ids = false;
  int top_logprobs = -1;  // >= 0: record the chosen token's and the top-n log-probabilities
};

struct TokenLogprob {
  int32_t id = 0;
  float logprob = 0;
  std::vector<std::pair<int32_t, float>> top;
};

// Counters of one request. times in seconds since submit().
struct RequestStats {
  int64_t prompt_tokens = 0;
  int64_t output_tokens = 0;
  int64_t verifications = 0;         // target forwards that produced tokens
  std::vector<int64_t> drafted_at;   // [draft position] times a token was drafted there
  std::vector<int64_t> accepted_at;  // [draft position] times it was accepted
  double first_token_seconds = 0;
  double total_seconds = 0;
};

// What callers get. `ids` excludes the stop token, `text` excludes the stop string.
struct Completion {
  std::vector<int32_t> ids;
  std::string text;
  FinishReason finish = FinishReason::kNone;
  int32_t stop_id = -1;   // the end token that ended it (of Request::stop_ids); -1: another end
  std::string error;  // kError: why (NaN logits, repeated-token collapse)
  std::vector<TokenLogprob> logprobs;
  RequestStats stats;
};

struct EngineOptions {
  int max_batch = 32;
  int64_t prefill_chunk = 256;  // prompt tokens per step and sequence
  int64_t max_pages = 1 << 16;  // KV pages (kPageTokens tokens each)
  int draft_tokens = 4;         // per verification, when there is a proposer
};

using RequestId = uint64_t;

// Not thread-safe: one thread owns it (serve puts a queue in front).
class Engine {
 public:
  // `tokenizer` may be null when no request has stop strings (text stays empty then);
  // `proposer` may be null (plain decoding).
  Engine(
      Model& model,
      std::shared_ptr<const Tokenizer> tokenizer,
      EngineOptions options,
      std::unique_ptr<Proposer> proposer = nullptr
  );
  ~Engine();

  // New text and tokens of a request after a step; `done` is set on the last call.
  struct Update {
    RequestId id = 0;
    std::span<const int32_t> tokens;
    std::string_view text;
    const Completion* done = nullptr;
  };
  using Listener = std::function<void(const Update&)>;

  // Queues a request. Throws UsageError (empty prompt, prompt + 1 > max_positions or the pool).
  RequestId submit(Request request, Listener listener = nullptr);
  // Ends a request at the next step with kCancelled.
  void cancel(RequestId id);
  // One forward pass for all running requests; admits waiting ones first. False when idle.
  bool step();

  [[nodiscard]] int running() const;
  [[nodiscard]] int waiting() const;
  [[nodiscard]] int64_t free_pages() const;

  // Runs all requests to the end, in order of the result's index. `progress` is called with the
  // number of finished requests.
  std::vector<Completion> generate(
      std::vector<Request> requests, const std::function<void(int64_t)>& progress = nullptr
  );

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hone
