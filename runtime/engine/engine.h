// Continuous batching over one model: requests come and go, every step is one forward pass.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
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
  bool keep_special_tokens = false;  // show special tokens in the text
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
  std::vector<int64_t> drafted_at;   // [draft position] drafts that reached this deep
  std::vector<int64_t> accepted_at;  // [draft position] times a token was accepted there
  int64_t preemptions = 0;           // times its cache was given up and computed again
  double first_token_seconds = 0;
  double total_seconds = 0;

  // Mean tokens per verified draft, the target's own token included; 1 without drafts.
  [[nodiscard]] double acceptance_length() const;
};

// What callers get. `ids` excludes the stop token, `text` excludes the stop string.
struct Completion {
  std::vector<int32_t> ids;
  std::string text;
  FinishReason finish = FinishReason::kNone;
  int32_t stop_id = -1;  // the end token that ended it (of Request::stop_ids); -1: another end
  // kError: "numerical_error" (NaN or infinite logits), "repetition" (repeated-token collapse) or
  // "kv_exhausted" (the pool is too small for this one sequence), and a sentence that says more.
  std::string error_code;
  std::string error;
  std::vector<TokenLogprob> logprobs;
  RequestStats stats;
};

struct EngineOptions {
  int max_batch = 32;
  int64_t prefill_chunk = 256;  // prompt tokens per step and sequence
  int64_t step_tokens = 2048;   // prompt tokens per step, all sequences together
  int64_t max_pages = 1 << 16;  // KV pages (kPageTokens tokens each)
  int draft_tokens = 4;         // per verification, when there is a proposer; 0: none
  // A sequence that repeats one token this many times in a row ends with kError "repetition".
  // 0: off.
  int64_t max_repeats = 256;
};

// Counters since the engine was made.
struct EngineStats {
  int64_t steps = 0;
  int64_t prompt_tokens = 0;     // processed in prefill, repeated ones after preemption included
  int64_t generated_tokens = 0;  // handed out
  int64_t preemptions = 0;
  int64_t finished = 0;
  int64_t failed = 0;               // of these with kError
  std::vector<int64_t> drafted_at;  // as RequestStats
  std::vector<int64_t> accepted_at;
};

using RequestId = uint64_t;

// Not thread-safe: one thread owns it (serve puts a queue in front).
//
// Scheduling: waiting requests are admitted in order while their tokens fit into the free pages.
// Prompts advance by chunks beside the decoding of others. When the pool runs out, the request
// that was admitted last gives up its cache and waits at the front; what it has is computed again,
// with the same text, for results do not depend on chunks or batches.
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

  // Queues a request. Throws UsageError naming what is wrong: empty prompt, ids outside the
  // vocabulary, prompt + 1 beyond max_positions or the pool, sampling out of range, stop strings
  // without a tokenizer. A text ends with kLength at max_tokens or when max_positions are full.
  // The listener is called at the end of step(); it may call submit() and cancel().
  RequestId submit(Request request, Listener listener = nullptr);
  // Ends a request at the next step with kCancelled; unknown and finished ids are ignored.
  void cancel(RequestId id);
  // One forward pass for all running requests; admits waiting ones first. False when idle.
  bool step();

  [[nodiscard]] int running() const;
  [[nodiscard]] int waiting() const;
  [[nodiscard]] int64_t free_pages() const;
  [[nodiscard]] const EngineStats& stats() const;

  // Runs all requests to the end, in order of the result's index. `progress` is called with the
  // number of finished requests. Errors of single requests are in their Completion; an exception
  // (of submit, or of the model) drops them all.
  std::vector<Completion> generate(
      std::vector<Request> requests, const std::function<void(int64_t)>& progress = nullptr
  );

 private:
  void forget(const std::vector<RequestId>& ids);
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hone
