#include "recipes/step/calibrate.h"

#include <algorithm>

#include <fmt/format.h>

#include "calibrate/corpus.h"
#include "calibrate/forward.h"
#include "calibrate/observer.h"
#include "calibrate/sensitivity.h"
#include "core/base/cancel.h"
#include "core/base/error.h"
#include "core/base/progress.h"
#include "recipes/engine/manifest.h"

namespace hone {
namespace {

// Tokens of one forward pass: enough rows to reuse each decoded weight, little enough memory.
constexpr int64_t kBatchTokens = 2048;

Format trial_format(const std::string& name) {
  const std::optional<Format> format = parse_format(name);
  if (format) return *format;
  std::string known;
  for (const Format each : all_formats()) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", format_name(each));
  }
  throw UsageError(fmt::format("sensitivity \"{}\": unknown format; known: {}", name, known));
}

void observe(LoadedModel& loaded, const Corpus& corpus, CalibrationStats& stats) {
  InputObserver observer;
  ForwardOutput unused;
  Progress progress("activations", corpus.tokens(), "tokens");
  for (const SequenceBatch& batch : batch_sequences(corpus.sequences, kBatchTokens)) {
    throw_if_cancelled();
    const auto sequences = std::span(corpus.sequences).subspan(batch.first, batch.count);
    forward_sequences(*loaded.model, sequences, LogitRows::kLast, unused, &observer);
    progress.advance(batch.tokens);
  }
  observer.finish(stats);
}

// The first sequences that together reach `tokens`.
std::span<const std::vector<int32_t>> leading(const Corpus& corpus, int64_t tokens) {
  size_t count = 0;
  for (int64_t sum = 0; count < corpus.sequences.size() && sum < tokens; ++count) {
    sum += static_cast<int64_t>(corpus.sequences[count].size());
  }
  return std::span(corpus.sequences).first(count);
}

Json most_sensitive(const CalibrationStats& stats) {
  struct Row {
    std::string module;
    std::string format;
    Sensitivity value;
  };
  std::vector<Row> rows;
  for (const auto& [name, module] : stats.modules) {
    for (const auto& [format, value] : module.sensitivity) rows.push_back({name, format, value});
  }
  std::ranges::stable_sort(rows, std::ranges::greater{}, [](const Row& r) {
    return r.value.kl_mean;
  });
  Json list = Json::array();
  for (size_t i = 0; i < std::min<size_t>(rows.size(), 10); ++i) {
    list.push_back(
        {{"module", rows[i].module},
         {"format", rows[i].format},
         {"kl_mean", rows[i].value.kl_mean},
         {"kl_stderr", rows[i].value.kl_stderr}}
    );
  }
  return list;
}

}  // namespace

void CalibrateStep::visit(FieldVisitor& fields) {
  fields.input("model", model, "Checkpoint folder, or a name in the Hugging Face cache");
  fields.input("data", data, "Corpus: .jsonl of {messages, tools} or {text}, or a text file");
  fields.output("output", output, "Statistics file to write (HDF5)");
  fields.option("tokens", tokens, "Tokens of the corpus to use");
  fields.option("max-length", max_length, "Longest sequence");
  fields.option(
      "answer-tokens", answer_tokens, "Longest answer the model adds to a prompt; 0: none"
  );
  fields.option(
      "sensitivity", sensitivity, "Formats to try on each module (nvfp4, fp8-block, mxfp4, ...)"
  );
  fields.option("sensitivity-tokens", sensitivity_tokens, "Tokens for the trials; 0: no trials");
}

StepOutcome CalibrateStep::run() {
  require(!data.empty(), "calibrate needs a corpus: --data traces.jsonl (or a text file)");
  SensitivityOptions trials;
  trials.formats.clear();
  for (const std::string& name : sensitivity) trials.formats.push_back(trial_format(name));

  LoadedModel loaded = load_model(model);
  CorpusLimits options{tokens, max_length, answer_tokens};
  const Corpus corpus = load_corpus(data, loaded, options);
  CalibrationStats stats;
  stats.model_hash = loaded.model->content_hash();
  stats.corpus_hash = corpus.hash();
  stats.tokens = corpus.tokens();
  observe(loaded, corpus, stats);
  for (const std::string& module : loaded.model->linear_modules()) {
    stats.modules[module].rows = loaded.model->dense_weight(module).shape().dim(0);
  }
  if (sensitivity_tokens > 0) {
    measure_sensitivity(*loaded.model, leading(corpus, sensitivity_tokens), trials, stats);
  }
  stats.save(output);

  StepOutcome outcome;
  outcome.summary["tokens"] = stats.tokens;
  outcome.summary["sequences"] = corpus.sequences.size();
  outcome.summary["modules"] = stats.modules.size();
  outcome.summary["most_sensitive"] = most_sensitive(stats);
  outcome.summary["line"] = fmt::format(
      "{} tokens in {} sequences, {} modules",
      stats.tokens,
      corpus.sequences.size(),
      stats.modules.size()
  );
  outcome.summary["output"] = std::filesystem::path(output).filename().string();
  write_manifest(*this, output, outcome);
  return outcome;
}

std::string calibration_table(const StepOutcome& outcome) {
  const Json& s = outcome.summary;
  std::string text = fmt::format(
      "{} tokens in {} sequences, {} modules\n",
      s.at("tokens").get<int64_t>(),
      s.at("sequences").get<int64_t>(),
      s.at("modules").get<int64_t>()
  );
  if (s.at("most_sensitive").empty()) return text;
  text +=
      fmt::format("{:<44} {:<10} {:>12} {:>10}\n", "most sensitive", "format", "KL/token", "+-");
  for (const Json& row : s.at("most_sensitive")) {
    text += fmt::format(
        "{:<44} {:<10} {:>12.3e} {:>10.1e}\n",
        row.at("module").get<std::string>(),
        row.at("format").get<std::string>(),
        row.at("kl_mean").get<double>(),
        row.at("kl_stderr").get<double>()
    );
  }
  return text;
}

}  // namespace hone
