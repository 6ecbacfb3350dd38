#include "recipes/step/bench_decode.h"

#include <chrono>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/cancel.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/progress.h"
#include "recipes/engine/manifest.h"
#include "runtime/engine/loaded_model.h"
#include "runtime/spec/eagle3.h"
#include "speculator/data/prompts.h"

namespace hone {
namespace {

// One way of decoding all prompts.
struct Measured {
  std::vector<Completion> completions;
  double seconds = 0;

  [[nodiscard]] int64_t tokens() const {
    int64_t sum = 0;
    for (const Completion& completion : completions)
      sum += completion.stats.output_tokens + (completion.stop_id >= 0 ? 1 : 0);
    return sum;
  }
  [[nodiscard]] double tokens_per_second() const { return static_cast<double>(tokens()) / seconds; }
  // After the first token of each text; the prompt's share of the time is left out.
  [[nodiscard]] double milliseconds_per_token() const {
    double time = 0;
    for (const Completion& completion : completions)
      time += completion.stats.total_seconds - completion.stats.first_token_seconds;
    const int64_t later = tokens() - std::ssize(completions);
    return later <= 0 ? 0.0 : 1e3 * time / static_cast<double>(later);
  }
};

Measured measure(
    const BenchDecodeStep& step,
    LoadedModel& loaded,
    const std::vector<TrainingPrompt>& prompts,
    std::unique_ptr<Proposer> proposer
) {
  EngineOptions options;
  options.max_batch = static_cast<int>(step.batch);
  options.draft_tokens = static_cast<int>(step.draft_tokens);
  const bool speculative = proposer != nullptr;
  Engine engine(*loaded.model, loaded.tokenizer, options, std::move(proposer));
  const auto request = [&](const TrainingPrompt& prompt) {
    Request r;
    r.prompt = prompt.ids;
    r.max_tokens = step.max_new_tokens;
    r.stop_ids = loaded.stop_ids;
    r.sampling.temperature = static_cast<float>(step.temperature);
    r.sampling.seed = static_cast<uint64_t>(step.seed);
    return r;
  };
  // Warm caches and pages first; the clock starts afterwards.
  engine.generate({request(prompts.front())});
  std::vector<Request> requests;
  for (const TrainingPrompt& prompt : prompts) requests.push_back(request(prompt));
  Progress progress(
      speculative ? "speculative" : "plain", static_cast<int64_t>(prompts.size()), "prompts"
  );
  int64_t shown = 0;
  Measured measured;
  const auto start = std::chrono::steady_clock::now();
  measured.completions = engine.generate(std::move(requests), [&](int64_t done) {
    throw_if_cancelled();
    progress.advance(done - std::exchange(shown, done));
  });
  measured.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return measured;
}

struct Rates {
  int64_t verifications = 0;
  int64_t produced = 0;
  std::vector<int64_t> drafted;
  std::vector<int64_t> accepted;
  [[nodiscard]] double length() const {
    return verifications == 0 ? 1.0
                              : static_cast<double>(produced) / static_cast<double>(verifications);
  }
};

// The prompt's pass gives the first token; what comes later is drafted and verified.
Rates rates_of(const Measured& measured) {
  Rates rates;
  for (const Completion& completion : measured.completions) {
    const RequestStats& stats = completion.stats;
    rates.verifications += stats.verifications - 1;
    rates.produced += stats.output_tokens + (completion.stop_id >= 0 ? 1 : 0) - 1;
    rates.drafted.resize(std::max(rates.drafted.size(), stats.drafted_at.size()));
    rates.accepted.resize(rates.drafted.size());
    for (size_t k = 0; k < stats.drafted_at.size(); ++k) {
      rates.drafted[k] += stats.drafted_at[k];
      rates.accepted[k] += k < stats.accepted_at.size() ? stats.accepted_at[k] : 0;
    }
  }
  return rates;
}

double rounded(double x) {
  return std::stod(fmt::format("{:.4f}", x));
}

Json speeds(const Measured& measured) {
  return {
      {"tokens_per_second", rounded(measured.tokens_per_second())},
      {"milliseconds_per_token", rounded(measured.milliseconds_per_token())},
      {"seconds", rounded(measured.seconds)}};
}

// Prompts whose text differs, by number; empty when speculation changed nothing.
Json differences(const Measured& plain, const Measured& speculative) {
  Json list = Json::array();
  for (size_t i = 0; i < plain.completions.size(); ++i) {
    const Completion& a = plain.completions[i];
    const Completion& b = speculative.completions[i];
    if (a.ids == b.ids && a.stop_id == b.stop_id && a.finish == b.finish) continue;
    size_t at = 0;
    while (at < std::min(a.ids.size(), b.ids.size()) && a.ids[at] == b.ids[at]) ++at;
    list.push_back({{"prompt", i}, {"token", at}});
  }
  return list;
}

void add_acceptance(const Rates& rates, Json& summary) {
  summary["acceptance_length"] = rounded(rates.length());
  summary["verifications"] = rates.verifications;
  summary["acceptance_at"] = Json::array();
  for (size_t k = 0; k < rates.drafted.size(); ++k) {
    // Of the drafts that were right before this position.
    const int64_t reached =
        k == 0 ? rates.drafted[0] : std::min(rates.drafted[k], rates.accepted[k - 1]);
    summary["acceptance_at"].push_back(
        reached == 0
            ? 0.0
            : rounded(static_cast<double>(rates.accepted[k]) / static_cast<double>(reached))
    );
  }
}

}  // namespace

void BenchDecodeStep::visit(FieldVisitor& fields) {
  fields.input("model", model, "Checkpoint folder, or a name in the Hugging Face cache");
  fields.input("draft", draft, "Draft head to compare plain decoding with");
  fields.input("prompts", prompts, "Prompts: .jsonl of {messages, tools} or {question}");
  fields.output("output", output, "Folder for the report; none: only print");
  fields.option("limit", limit, "Prompts to decode; 0: all");
  fields.option("max-new-tokens", max_new_tokens, "Longest answer");
  fields.option("draft-tokens", draft_tokens, "Tokens drafted for each verification");
  fields.option("batch", batch, "Sequences decoded at once");
  fields.option("temperature", temperature, "0: greedy");
  fields.option("seed", seed, "Of sampled text");
  fields.option("as", profile, "Arithmetic of the model: exact, hopper or blackwell");
  fields.option("allow-other-target", allow_other_target, "Use a head of another target");
}

StepOutcome BenchDecodeStep::run() {
  require(!prompts.empty(), "bench decode needs prompts: --prompts FILE.jsonl");
  require(batch >= 1, "--batch is {}, at least 1", batch);
  require(draft_tokens >= 1, "--draft-tokens is {}, at least 1", draft_tokens);
  require(max_new_tokens >= 2, "--max-new-tokens is {}, at least 2", max_new_tokens);
  std::optional<StagedFolder> folder;
  if (!output.empty()) folder.emplace(output);
  LoadedModel loaded = load_model(model, {parse_profile(profile)});
  PromptOptions reading;
  reading.limit = limit;
  reading.max_length = loaded.model->config().max_positions;
  const PromptSet set = read_prompts(prompts, loaded, reading);

  StepOutcome outcome;
  Json& summary = outcome.summary;
  const Measured plain = measure(*this, loaded, set.prompts, nullptr);
  summary["prompts"] = set.prompts.size();
  summary["tokens"] = plain.tokens();
  summary["batch"] = batch;
  Json run{{"plain", speeds(plain)}};
  if (!draft.empty()) {
    Eagle3Options options;
    options.allow_other_target = allow_other_target;
    Eagle3Loaded head = load_eagle3_proposer(draft, *loaded.model, options);
    const Measured speculative = measure(*this, loaded, set.prompts, std::move(head.proposer));
    const Json different = differences(plain, speculative);
    summary["identical"] = different.empty();
    summary["draft_tokens"] = draft_tokens;
    add_acceptance(rates_of(speculative), summary);
    if (!different.empty()) {
      summary["different"] = different;
      outcome.exit_code = 1;
    }
    run["speculative"] = speeds(speculative);
    run["speedup"] = rounded(speculative.tokens_per_second() / plain.tokens_per_second());
    summary["line"] = fmt::format(
        "acceptance length {:.2f} with {} drafted, text {}",
        summary["acceptance_length"].get<double>(),
        draft_tokens,
        different.empty() ? "identical" : "DIFFERENT"
    );
  }
  if (folder) {
    write_json_file(folder->staging() / "bench.json", summary);
    write_json_file(folder->staging() / "hone.run.json", run);
    write_manifest(*this, folder->staging(), outcome);
    folder->commit();
  }
  // Speeds are shown but not recorded: equal inputs give equal bytes.
  summary["speed"] = run;
  return outcome;
}

std::string bench_table(const StepOutcome& outcome) {
  const Json& s = outcome.summary;
  std::string text = fmt::format(
      "{} prompts, {} tokens, batch {}\n{:<14}{:>12}{:>14}\n",
      s.at("prompts").get<int64_t>(),
      s.at("tokens").get<int64_t>(),
      s.at("batch").get<int64_t>(),
      "decoding",
      "tokens/s",
      "ms/token"
  );
  const Json& speed = s.at("speed");
  for (const char* name : {"plain", "speculative"}) {
    if (!speed.contains(name)) continue;
    text += fmt::format(
        "{:<14}{:>12.1f}{:>14.3f}\n",
        name,
        speed[name]["tokens_per_second"].get<double>(),
        speed[name]["milliseconds_per_token"].get<double>()
    );
  }
  if (!s.contains("acceptance_length")) return text;
  text += fmt::format(
      "speed-up {:.2f}, acceptance length {:.2f} (tokens per verification, {} drafted)\n",
      speed["speedup"].get<double>(),
      s["acceptance_length"].get<double>(),
      s["draft_tokens"].get<int64_t>()
  );
  for (size_t k = 0; k < s["acceptance_at"].size(); ++k)
    text += fmt::format(
        "  drafted token {}: right in {:.1f} % of the chains that were right before\n",
        k + 1,
        100 * s["acceptance_at"][k].get<double>()
    );
  text +=
      s["identical"].get<bool>()
          ? "text: identical to plain decoding on every prompt\n"
          : fmt::format(
                "text: DIFFERS from plain decoding on {} prompts, first on number {} at token {}\n",
                s["different"].size(),
                s["different"][0]["prompt"].get<int64_t>(),
                s["different"][0]["token"].get<int64_t>()
            );
  return text;
}

}  // namespace hone
