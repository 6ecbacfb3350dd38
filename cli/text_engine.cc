#include "cli/text_engine.h"

#include <random>

#include "cli/paths.h"
#include "core/base/cancel.h"
#include "core/base/error.h"
#include "runtime/spec/eagle3.h"

namespace hone {

void add_text_flags(CLI::App& command, TextFlags& flags) {
  command
      .add_option("MODEL", flags.model, "Checkpoint folder, or a name in the Hugging Face cache")
      ->required();
  command.add_option("--max-tokens", flags.max_tokens, "Longest answer")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command.add_option("--temperature", flags.temperature, "0: greedy (default: the model's)");
  command.add_option("--top-k", flags.top_k, "Sample among the k most likely tokens; 0: all");
  command.add_option("--top-p", flags.top_p, "Sample among the tokens that hold this probability");
  command.add_option("--min-p", flags.min_p, "Drop tokens below this part of the likeliest one");
  command.add_option("--seed", flags.seed, "Same seed, same text (default: drawn and reported)");
  command.add_option("--stop", flags.stop, "End before this text; may be given several times");
  command.add_option("--as", flags.profile, "Arithmetic: exact, hopper or blackwell")
      ->capture_default_str();
  command.add_option("--draft", flags.draft, "EAGLE-3 head for speculative decoding");
  command.add_option("--draft-tokens", flags.draft_tokens, "Drafted tokens per verification")
      ->check(CLI::Range(0, 64))
      ->capture_default_str();
  command.add_flag(
      "--allow-other-target", flags.allow_other_target, "Use a head trained on other weights"
  );
}

TextEngine::TextEngine(const TextFlags& flags)
    : flags_(flags),
      model_(load_model(resolve_model(flags.model), {.profile = parse_profile(flags.profile)})) {
  std::unique_ptr<Proposer> proposer;
  if (!flags.draft.empty()) {
    Eagle3Options options;
    options.allow_other_target = flags.allow_other_target;
    proposer = load_eagle3_proposer(resolve_model(flags.draft), *model_.model, options).proposer;
    drafts_ = true;
  }
  EngineOptions options;
  options.draft_tokens = flags.draft_tokens;
  engine_ = std::make_unique<Engine>(*model_.model, model_.tokenizer, options, std::move(proposer));
}

Request TextEngine::request(std::vector<int32_t> prompt) const {
  Request request = model_.request(std::move(prompt));
  request.max_tokens = flags_.max_tokens;
  request.stop = flags_.stop;
  SamplingParams& sampling = request.sampling;
  sampling.temperature = flags_.temperature.value_or(sampling.temperature);
  sampling.top_k = flags_.top_k.value_or(sampling.top_k);
  sampling.top_p = flags_.top_p.value_or(sampling.top_p);
  sampling.min_p = flags_.min_p.value_or(sampling.min_p);
  if (flags_.seed) {
    sampling.seed = *flags_.seed;
  } else if (sampling.temperature > 0.0F) {
    sampling.seed = std::random_device{}();
  }
  return request;
}

Completion TextEngine::run(Request request, const std::function<void(std::string_view)>& on_text) {
  Completion result;
  bool ended = false;
  const RequestId id = engine_->submit(std::move(request), [&](const Engine::Update& update) {
    if (on_text && !update.text.empty()) on_text(update.text);
    if (update.done == nullptr) return;
    result = *update.done;
    ended = true;
  });
  while (!ended) {
    if (cancelled()) engine_->cancel(id);
    check(engine_->step(), "the engine is idle before the request has ended");
  }
  return result;
}

std::string describe(const Completion& completion, bool drafts) {
  const RequestStats& stats = completion.stats;
  const double decoding = stats.total_seconds - stats.first_token_seconds;
  std::string text = fmt::format(
      "{} prompt tokens, {} tokens in {:.2f} s",
      stats.prompt_tokens,
      stats.output_tokens,
      stats.total_seconds
  );
  if (stats.output_tokens > 1 && decoding > 0.0)
    text += fmt::format(
        " (first after {:.2f} s, then {:.1f} tokens/s)",
        stats.first_token_seconds,
        static_cast<double>(stats.output_tokens - 1) / decoding
    );
  if (drafts) text += fmt::format(", {:.2f} tokens per verification", stats.acceptance_length());
  return text + fmt::format(", finish: {}", finish_reason_name(completion.finish));
}

}  // namespace hone
