#include "recipes/step/train_eagle3.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/ranges.h>

#include "core/base/file.h"
#include "core/base/log.h"
#include "recipes/engine/manifest.h"
#include "recipes/step/model_card.h"
#include "runtime/engine/loaded_model.h"
#include "runtime/model/draft/eagle3_checkpoint.h"
#include "speculator/data/answers.h"
#include "speculator/data/draft_vocabulary.h"
#include "speculator/data/features.h"
#include "speculator/data/prompts.h"
#include "speculator/train/loop.h"

namespace hone {
namespace {

// The usual size of published heads; small vocabularies are halved, so that the map pays.
constexpr int64_t kLargestDefaultVocabulary = 32000;

std::vector<int64_t> parse_taps(const std::vector<std::string>& values) {
  std::vector<int64_t> taps;
  for (const std::string& value : values) {
    int64_t tap = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), tap);
    require(
        error == std::errc() && end == value.data() + value.size(),
        "--taps: \"{}\" is no layer number (0-based: the output of layer 2 is tap 2)",
        value
    );
    taps.push_back(tap);
  }
  return taps;
}

DType parse_head_dtype(const std::string& name) {
  if (name == "bf16") return DType::kBF16;
  if (name == "f16") return DType::kF16;
  require(name == "f32", "--dtype is \"{}\", expected bf16, f16 or f32", name);
  return DType::kF32;
}

Eagle3Config head_config(const TrainEagle3Step& step, const ModelConfig& target) {
  const int64_t vocabulary =
      step.draft_vocab > 0
          ? step.draft_vocab
          : std::max<int64_t>(1, std::min(kLargestDefaultVocabulary, target.vocab / 2));
  std::vector<int64_t> taps = parse_taps(step.taps);
  if (taps.empty()) taps = default_eagle3_taps(target.layers);
  Eagle3Config config = eagle3_config_for(target, std::move(taps), vocabulary);
  if (step.intermediate > 0) config.intermediate = step.intermediate;
  if (step.kv_heads > 0) config.kv_heads = step.kv_heads;
  config.dtype = parse_head_dtype(step.dtype);
  config.validate(target.layers);
  return config;
}

// Falls with the width, as the update of an output does not: 3e-3 at 256 units (measured on the
// included model), 2e-4 at 4096 (published heads: 1e-4 to 6e-4).
double default_learning_rate(int64_t hidden) {
  return 3e-3 * 256.0 / static_cast<double>(hidden);
}

TrainOptions train_options(const TrainEagle3Step& step, int64_t hidden) {
  TrainOptions options;
  options.steps = step.steps;
  options.epochs = step.epochs;
  options.batch_tokens = step.batch_tokens;
  options.ttt_steps = step.ttt_steps;
  options.decay = step.decay;
  options.rate.peak = step.lr > 0 ? step.lr : default_learning_rate(hidden);
  options.rate.warmup = step.warmup;
  options.adam.weight_decay = step.weight_decay;
  options.adam.clip_norm = step.clip;
  options.seed = step.seed;
  options.checkpoint_every = step.checkpoint_every;
  options.evaluate_every = step.evaluate_every;
  options.feature_memory = step.feature_memory << 30;
  return options;
}

void check_options(const TrainEagle3Step& step) {
  require(!step.data.empty(), "train eagle3 needs prompts: --data traces.jsonl");
  require(step.max_new_tokens >= 2, "--max-new-tokens is {}, at least 2", step.max_new_tokens);
  require(step.lr >= 0, "--lr is {}, it must not be negative", step.lr);
  require(
      step.decay > 0 && step.decay <= 1, "--decay is {}, expected a value in (0, 1]", step.decay
  );
  require(step.temperature >= 0, "--temperature is {}, it must not be negative", step.temperature);
  require(
      step.feature_memory >= 0 && step.feature_memory < (int64_t{1} << 20),
      "--feature-memory is {} GiB",
      step.feature_memory
  );
}

// What the run is made of, in words of the model card.
std::string card_text(const TrainEagle3Step& step, const Eagle3Head& head, const Json& summary) {
  const std::string base = base_model_name(step.target);
  std::string text = fmt::format(
      "---\nbase_model: {}\ntags: [eagle3, speculative-decoding]\n---\n"
      "# EAGLE-3 draft head for {}\n\n"
      "One decoder layer of {} hidden units over the outputs of layers {} of the target, with a "
      "vocabulary of {} of {} tokens. It drafts tokens which the target verifies: the text is the "
      "target's own, whatever the head says.\n\n",
      base,
      base,
      head.config.hidden,
      fmt::join(head.config.taps, ", "),
      head.config.draft_vocab,
      head.config.vocab
  );
  text += fmt::format(
      "## Acceptance\nHeld-out conversations of the training data, {} drafted tokens, greedy "
      "chain: "
      "**{:.2f} tokens per verification** (the target's own token included).\n\n"
      "| drafted token | right, if all before were |\n|---|---|\n",
      step.ttt_steps,
      summary["acceptance_length"].get<double>()
  );
  for (size_t k = 0; k < summary["chain"].size(); ++k)
    text += fmt::format("| {} | {:.1f} % |\n", k + 1, 100 * summary["chain"][k].get<double>());
  text += fmt::format(
      "\n## Use\n```\nhone serve {} --draft <this folder>\n"
      "python -m sglang.launch_server --model {} --speculative-algorithm EAGLE3 \\\n"
      "  --speculative-draft-model-path <this folder> --speculative-num-steps 3 \\\n"
      "  --speculative-eagle-topk 1 --speculative-num-draft-tokens 4\n"
      "vllm serve {} --speculative-config "
      "'{{\"method\": \"eagle3\", \"model\": \"<this folder>\", \"num_speculative_tokens\": 3}}'\n"
      "```\n",
      base,
      base,
      base
  );
  text += fmt::format(
      "\n## Training\n{} prompts, answered by the target itself ({} tokens of answers), {} "
      "optimizer "
      "steps of {} tokens, {} unrolled steps. `metrics.jsonl` has the course, `hone.json` every "
      "option and hash.\n",
      summary["rows"].get<int64_t>(),
      summary["answer_tokens"].get<int64_t>(),
      summary["steps"].get<int64_t>(),
      step.batch_tokens,
      step.ttt_steps
  );
  return text;
}

int64_t answer_tokens(const std::vector<TrainingRow>& rows) {
  int64_t tokens = 0;
  for (const TrainingRow& row : rows)
    tokens += std::count(row.mask.begin(), row.mask.end(), uint8_t{1});
  return tokens;
}

// Four digits: the summary is recorded, and read.
double rounded(double x) {
  return std::stod(fmt::format("{:.4f}", x));
}

Json summary_of(const TrainResult& result) {
  Json summary;
  summary["acceptance_length"] = rounded(result.held_out.length());
  summary["loss_start"] = rounded(result.first_loss);
  summary["loss_end"] = rounded(result.last_loss);
  summary["steps"] = result.steps;
  summary["chain"] = Json::array();
  summary["teacher_forced"] = Json::array();
  for (size_t k = 0; k < result.held_out.supervised.size(); ++k) {
    summary["chain"].push_back(rounded(result.held_out.chain(static_cast<int64_t>(k))));
    summary["teacher_forced"].push_back(rounded(result.held_out.forced(static_cast<int64_t>(k))));
  }
  return summary;
}

}  // namespace

void TrainEagle3Step::visit(FieldVisitor& fields) {
  fields.input("target", target, "Checkpoint that the head will serve (quantized or not)");
  fields.input("data", data, "Prompts: .jsonl of {messages, tools}; the target answers them");
  fields.output("output", output, "Folder of the head");
  fields.option("limit", limit, "Prompts to use; 0: all");
  fields.option("max-length", max_length, "Longest prompt with its answer, in tokens");
  fields.option("max-new-tokens", max_new_tokens, "Longest answer");
  fields.option("temperature", temperature, "Of the answers; 0: greedy");
  fields.option("held-out", held_out, "Share of the conversations that only measure acceptance");
  fields.option("taps", taps, "Target layers whose outputs are read (default: by depth)");
  fields.option(
      "draft-vocab", draft_vocab, "Tokens that the head can draft; 0: half, at most 32000"
  );
  fields.option("intermediate", intermediate, "Feed-forward width; 0: the target's");
  fields.option("kv-heads", kv_heads, "Key/value heads; 0: the target's");
  fields.option("dtype", dtype, "Of the stored weights: bf16, f16 or f32");
  fields.option("steps", steps, "Optimizer steps; 0: as many as --epochs needs");
  fields.option("epochs", epochs, "Passes over the data");
  fields.option("batch-tokens", batch_tokens, "Answer tokens in an optimizer step");
  fields.option("ttt-steps", ttt_steps, "Unrolled steps of training-time test");
  fields.option("decay", decay, "Loss weight of unrolled step k: decay^k");
  fields.option("lr", lr, "Peak learning rate (AdamW, cosine); 0: by width");
  fields.option("warmup", warmup, "Share of the steps that warm up");
  fields.option("weight-decay", weight_decay, "Of matrices");
  fields.option("clip", clip, "Largest gradient norm; 0: off");
  fields.option("seed", seed, "Of weights, order and sampled answers");
  fields.option("checkpoint-every", checkpoint_every, "Steps between resumable states; 0: none");
  fields.option(
      "evaluate-every", evaluate_every, "Steps between acceptance figures; 0: at the end"
  );
  fields.option("feature-memory", feature_memory, "GiB of hidden states to keep in memory");
  fields.option("as", profile, "Arithmetic of the target: exact, hopper or blackwell");
}

StepOutcome TrainEagle3Step::run() {
  check_options(*this);
  // Refuses a foreign folder before an hour of work; the run's state lives beside it.
  StagedFolder folder(output);
  const std::filesystem::path work = work_folder();
  std::filesystem::create_directories(work);
  LoadedModel loaded = load_model(target, {parse_profile(profile)});
  Eagle3Head head;
  head.config = head_config(*this, loaded.model->config());
  const Tensor embeddings = loaded.model->embedding_table();
  const Tensor lm_head = target_lm_head(*loaded.model);

  const PromptSet prompts = read_prompts(data, loaded, {limit, max_length});
  log_info(
      "{} prompts of {} conversations ({} repeated, {} too long)",
      prompts.prompts.size(),
      prompts.conversations,
      prompts.duplicates,
      prompts.too_long
  );
  const AnswerOptions answers{max_new_tokens, max_length, temperature, seed};
  const RowSplit rows = split_rows(
      answer_prompts(loaded, prompts.prompts, answers, work / "answers.jsonl"), held_out
  );
  head.draft_to_target =
      choose_draft_vocabulary(rows.train, head.config.vocab, head.config.draft_vocab);
  const double coverage = vocabulary_coverage(rows.train, head.draft_to_target);
  log_info(
      "{} rows to train on, {} held out; the draft vocabulary covers {:.2f} % of the answers",
      rows.train.size(),
      rows.held_out.size(),
      100 * coverage
  );
  const TrainData input{loaded.model.get(), &embeddings, &lm_head, &rows, &head.draft_to_target};
  TrainResult result = train_eagle3_head(
      head.config, input, train_options(*this, head.config.hidden), work, cache_key(*this)
  );

  head.weights = result.weights;
  DraftContract contract;
  contract.taps = head.config.taps;
  contract.draft_vocab = head.config.draft_vocab;
  contract.vocabulary_map_hash = hash_vocabulary_map(head.draft_to_target);
  contract.target = identify_target(*loaded.model, embeddings);
  head.contract = contract;
  write_eagle3(head, folder.staging());
  std::string lines;
  for (const Json& line : result.metrics) lines += dump_json(line) + "\n";
  write_text_file(folder.staging() / "metrics.jsonl", lines);

  StepOutcome outcome;
  outcome.summary = summary_of(result);
  outcome.summary["rows"] = rows.train.size() + rows.held_out.size();
  outcome.summary["held_out_rows"] = rows.held_out.size();
  outcome.summary["answer_tokens"] = answer_tokens(rows.train) + answer_tokens(rows.held_out);
  outcome.summary["vocabulary_coverage"] = rounded(coverage);
  outcome.summary["taps"] = head.config.taps;
  outcome.summary["draft_vocab"] = head.config.draft_vocab;
  outcome.summary["line"] = fmt::format(
      "acceptance length {:.2f} on held-out prompts, loss {:.2f} -> {:.2f}",
      result.held_out.length(),
      result.first_loss,
      result.last_loss
  );
  write_text_file(folder.staging() / "README.md", card_text(*this, head, outcome.summary));
  write_manifest(*this, folder.staging(), outcome);
  folder.commit();
  std::filesystem::remove_all(work);
  return outcome;
}

std::string training_table(const StepOutcome& outcome) {
  const Json& s = outcome.summary;
  std::string text = fmt::format(
      "{} prompts answered ({} tokens), {} optimizer steps, loss {:.3f} -> {:.3f}\n"
      "held-out acceptance length {:.2f} (tokens per verification, {} drafted)\n"
      "{:<16}{:>16}{:>16}\n",
      s.at("rows").get<int64_t>(),
      s.at("answer_tokens").get<int64_t>(),
      s.at("steps").get<int64_t>(),
      s.at("loss_start").get<double>(),
      s.at("loss_end").get<double>(),
      s.at("acceptance_length").get<double>(),
      s.at("chain").size(),
      "drafted token",
      "true chain",
      "teacher-forced"
  );
  for (size_t k = 0; k < s.at("chain").size(); ++k)
    text += fmt::format(
        "{:<16}{:>14.1f} %{:>14.1f} %\n",
        k + 1,
        100 * s["chain"][k].get<double>(),
        100 * s["teacher_forced"][k].get<double>()
    );
  return text;
}

}  // namespace hone
