#include "runtime/engine/sequence.h"

#include <algorithm>

#include "core/base/error.h"
#include "runtime/sample/sampler.h"

namespace hone {

Sequence::Sequence(
    RequestId id,
    Request request,
    Engine::Listener listener,
    std::shared_ptr<const Tokenizer> tokenizer,
    Limits limits
)
    : id_(id),
      request_(std::move(request)),
      listener_(std::move(listener)),
      limits_(limits),
      tokens_(request_.prompt),
      stops_(request_.stop),
      start_(std::chrono::steady_clock::now()) {
  if (tokenizer) decoder_.emplace(std::move(tokenizer), !request_.keep_special_tokens);
  completion_.stats.prompt_tokens = static_cast<int64_t>(request_.prompt.size());
}

int64_t Sequence::pending() const {
  return static_cast<int64_t>(tokens_.size()) - (kv ? kv->length() : 0);
}

int64_t Sequence::remaining() const {
  const auto total = static_cast<int64_t>(tokens_.size());
  const auto generated = total - static_cast<int64_t>(request_.prompt.size());
  return std::min(request_.max_tokens - generated, limits_.max_positions - total);
}

double Sequence::elapsed() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void Sequence::show(std::string_view text) {
  completion_.text += stops_.push(text);
}

void Sequence::append(int32_t token, std::span<const float> logits) {
  check(!finished(), "request {} got a token after its end", id_);
  RequestStats& stats = completion_.stats;
  if (stats.first_token_seconds == 0) stats.first_token_seconds = elapsed();
  if (!request_.ignore_stop_ids &&
      std::ranges::find(request_.stop_ids, token) != request_.stop_ids.end()) {
    completion_.stop_id = token;
    finish(FinishReason::kStop);
    return;
  }
  if (request_.top_logprobs >= 0) {
    const LogProbs all = log_probs(logits, token, request_.top_logprobs);
    TokenLogprob entry{.id = token, .logprob = static_cast<float>(all.chosen), .top = {}};
    for (const auto& [other, value] : all.top)
      entry.top.emplace_back(other, static_cast<float>(value));
    completion_.logprobs.push_back(std::move(entry));
  }
  repeats_ = !completion_.ids.empty() && completion_.ids.back() == token ? repeats_ + 1 : 1;
  tokens_.push_back(token);
  completion_.ids.push_back(token);
  ++stats.output_tokens;
  if (decoder_) show(decoder_->push(token));
  if (stops_.matched()) {
    finish(FinishReason::kStop);
  } else if (limits_.max_repeats > 0 && repeats_ >= limits_.max_repeats) {
    fail(
        "repetition",
        fmt::format(
            "token {} came {} times in a row; the text has collapsed (EngineOptions::max_repeats)",
            token,
            repeats_
        )
    );
  } else if (remaining() <= 0) {
    finish(FinishReason::kLength);
  }
}

void Sequence::finish(FinishReason reason) {
  if (decoder_) show(decoder_->finish());
  completion_.text += stops_.finish();
  completion_.finish = reason;
  completion_.stats.total_seconds = elapsed();
  proposer_state.reset();
  kv.reset();
}

void Sequence::fail(std::string code, std::string message) {
  completion_.error_code = std::move(code);
  completion_.error = std::move(message);
  finish(FinishReason::kError);
}

void Sequence::preempt() {
  ++completion_.stats.preemptions;
  proposer_state.reset();
  kv.reset();
}

void Sequence::report() {
  const bool news = completion_.ids.size() > reported_tokens_ ||
                    completion_.text.size() > reported_text_ || (finished() && !reported_end_);
  if (!news) return;
  const size_t token = reported_tokens_;
  const size_t text = reported_text_;
  reported_tokens_ = completion_.ids.size();
  reported_text_ = completion_.text.size();
  reported_end_ = finished();
  if (!listener_) return;
  listener_(
      {.id = id_,
       .tokens = std::span<const int32_t>(completion_.ids).subspan(token),
       .text = std::string_view(completion_.text).substr(text),
       .done = finished() ? &completion_ : nullptr}
  );
}

}  // namespace hone
