#include "speculator/train/loop.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "core/base/cancel.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/progress.h"
#include "speculator/data/features.h"
#include "speculator/train/batch.h"
#include "speculator/train/checkpoint.h"
#include "speculator/train/head_weights.h"
#include "speculator/train/objective.h"

namespace hone {
namespace {

// Rows of the target's lm_head that the draft vocabulary names.
Tensor draft_rows(const Tensor& lm_head, const std::vector<int32_t>& draft_to_target) {
  const int64_t hidden = lm_head.shape().dim(1);
  Tensor rows(DType::kF32, {static_cast<int64_t>(draft_to_target.size()), hidden});
  float* to = rows.as<float>().data();
  for (const int32_t id : draft_to_target)
    to = std::copy_n(lm_head.as<float>().data() + id * hidden, hidden, to);
  return rows;
}

std::vector<uint8_t> matrices(const HeadWeights& weights) {
  std::vector<uint8_t> decayed;
  for (const HeadWeights::Part& part : weights.parts())
    decayed.insert(
        decayed.end(), static_cast<size_t>(part.shape.numel()), part.shape.rank() == 2 ? 1 : 0
    );
  return decayed;
}

// Six significant digits: enough to read, and stable text.
double rounded(double x) {
  return std::stod(fmt::format("{:.6g}", x));
}

class Run {
 public:
  Run(const Eagle3Config& config, const TrainData& data, const TrainOptions& options)
      : config_(config),
        data_(data),
        options_(options),
        weights_(config),
        adam_(options.adam, matrices(weights_)),
        draft_lm_head_(draft_rows(*data.lm_head, *data.draft_to_target)),
        teacher_{data.embeddings, &draft_lm_head_, data.draft_to_target},
        train_(*data.target, *data.lm_head, config.taps, data.rows->train, options.feature_memory),
        held_out_(
            *data.target, *data.lm_head, config.taps, data.rows->held_out, options.feature_memory
        ) {
    epoch_groups_ = groups_of(0);
    const auto batches = static_cast<int64_t>(epoch_groups_.size());
    options_.rate.steps = options.steps > 0 ? options.steps : options.epochs * batches;
    weights_.initialize(
        config, *data.lm_head, *data.draft_to_target, static_cast<uint64_t>(options.seed)
    );
  }

  TrainResult train(
      const std::filesystem::path& work,
      const std::string& key,
      const std::function<void(int64_t)>& on_step
  );

 private:
  [[nodiscard]] std::vector<std::vector<size_t>> groups_of(int64_t epoch) const {
    return pack_rows(
        data_.rows->train, {options_.batch_tokens, options_.seed, epoch, /*shuffle=*/true}
    );
  }
  // The rows of an optimizer step, counted over epochs. Epochs may differ by a batch or so.
  const std::vector<size_t>& group_at(int64_t step) {
    if (step < epoch_first_) {
      epoch_ = 0;
      epoch_first_ = 0;
      epoch_groups_ = groups_of(0);
    }
    while (step >= epoch_first_ + static_cast<int64_t>(epoch_groups_.size())) {
      epoch_first_ += static_cast<int64_t>(epoch_groups_.size());
      epoch_groups_ = groups_of(++epoch_);
    }
    return epoch_groups_[static_cast<size_t>(step - epoch_first_)];
  }
  Json step(int64_t index);
  Acceptance evaluate();
  void resume(const std::filesystem::path& work, const std::string& key);
  void save(const std::filesystem::path& work, const std::string& key);
  void note(Progress& progress, const Json& line) const;

  Eagle3Config config_;
  TrainData data_;
  TrainOptions options_;
  HeadWeights weights_;
  AdamW adam_;
  Tensor draft_lm_head_;
  Teacher teacher_;
  FeatureStore train_;
  FeatureStore held_out_;
  Tape tape_;
  std::vector<std::vector<size_t>> epoch_groups_;
  int64_t epoch_ = 0;
  int64_t epoch_first_ = 0;
  int64_t done_ = 0;
  std::vector<Json> metrics_;
  double last_length_ = 0;
};

// One optimizer step; its line for the metrics.
Json Run::step(int64_t index) {
  const TttBatch batch = make_batch(
      data_.rows->train, group_at(index), train_, *data_.draft_to_target, options_.ttt_steps
  );
  std::fill(weights_.gradients().begin(), weights_.gradients().end(), 0.0F);
  tape_.reset();
  ObjectiveOptions objective;
  objective.decay = options_.decay;
  // One divisor for all batches: every supervised token weighs the same in the whole run.
  objective.divisor = static_cast<double>(options_.batch_tokens);
  const ObjectiveResult result =
      eagle3_objective(tape_, config_, weights_, batch, teacher_, objective);
  tape_.backward(result.loss);
  const double rate = options_.rate.at(index);
  const double norm = adam_.step(weights_.values(), weights_.gradients(), rate, index + 1);
  const Acceptance counts = count_acceptance(batch, result);
  require_data(
      std::isfinite(counts.mean_loss()) && std::isfinite(norm),
      "training diverged at step {}: loss {}, gradient norm {}; lower --lr",
      index + 1,
      counts.mean_loss(),
      norm
  );
  Json losses = Json::array();
  Json accuracy = Json::array();
  for (int64_t k = 0; k < options_.ttt_steps; ++k) {
    losses.push_back(rounded(result.steps[static_cast<size_t>(k)].loss));
    accuracy.push_back(rounded(counts.forced(k)));
  }
  return {
      {"step", index + 1},
      {"loss", rounded(counts.mean_loss())},
      {"losses", losses},
      {"accuracy", accuracy},
      {"lr", rounded(rate)},
      {"gradient_norm", rounded(norm)},
      {"tokens", batch.active()}};
}

Acceptance Run::evaluate() {
  Acceptance total(options_.ttt_steps);
  const auto groups =
      pack_rows(data_.rows->held_out, {options_.batch_tokens, 0, 0, /*shuffle=*/false});
  tape_.set_recording(false);
  for (const std::vector<size_t>& group : groups) {
    const TttBatch batch = make_batch(
        data_.rows->held_out, group, held_out_, *data_.draft_to_target, options_.ttt_steps
    );
    tape_.reset();
    total.add(count_acceptance(
        batch, eagle3_objective(tape_, config_, weights_, batch, teacher_, {options_.decay, 1.0})
    ));
  }
  tape_.reset();
  tape_.set_recording(true);
  last_length_ = total.length();
  return total;
}

void Run::resume(const std::filesystem::path& work, const std::string& key) {
  std::optional<TrainingState> state =
      load_training_state(work / "training.safetensors", key, weights_.values().size());
  if (!state) return;
  weights_.values() = std::move(state->weights);
  adam_.first_moment() = std::move(state->first_moment);
  adam_.second_moment() = std::move(state->second_moment);
  done_ = state->step;
  for (Json& line : read_jsonl_file(work / "metrics.jsonl"))
    if (line["step"].get<int64_t>() <= done_) metrics_.push_back(std::move(line));
  log_info("resumed at step {} of {}", done_, options_.rate.steps);
}

void Run::save(const std::filesystem::path& work, const std::string& key) {
  // The metrics first: a state without its metrics would lose lines, the other way round they are
  // written again.
  std::string text;
  for (const Json& line : metrics_) text += dump_json(line) + "\n";
  write_text_file(work / "metrics.jsonl", text);
  save_training_state(
      work / "training.safetensors",
      {key, done_, weights_.values(), adam_.first_moment(), adam_.second_moment()}
  );
}

void Run::note(Progress& progress, const Json& line) const {
  std::string text = fmt::format("loss {:.3f}", line["loss"].get<double>());
  if (last_length_ > 0) text += fmt::format(", held-out acceptance length {:.2f}", last_length_);
  progress.note(text);
}

TrainResult Run::train(
    const std::filesystem::path& work,
    const std::string& key,
    const std::function<void(int64_t)>& on_step
) {
  resume(work, key);
  const int64_t steps = options_.rate.steps;
  train_.fill();
  Progress progress("training", steps * options_.batch_tokens, "tokens");
  progress.advance(done_ * options_.batch_tokens);
  for (int64_t index = done_; index < steps; ++index) {
    throw_if_cancelled();
    Json line = step(index);
    done_ = index + 1;
    const bool last = done_ == steps;
    const bool evaluate_now =
        last || (options_.evaluate_every > 0 && done_ % options_.evaluate_every == 0);
    if (evaluate_now && !data_.rows->held_out.empty()) {
      note(progress, line);
      line["held_out"] = evaluate().to_json();
    }
    note(progress, line);
    metrics_.push_back(std::move(line));
    progress.advance(options_.batch_tokens);
    if (!last && options_.checkpoint_every > 0 && done_ % options_.checkpoint_every == 0)
      save(work, key);
    if (on_step) on_step(done_);
  }
  progress.finish();

  TrainResult result;
  result.weights = weights_.tensors();
  result.steps = steps;
  result.held_out = evaluate();
  const auto tenth = std::max<size_t>(1, metrics_.size() / 10);
  for (size_t i = 0; i < tenth && i < metrics_.size(); ++i) {
    result.first_loss += metrics_[i]["loss"].get<double>() / static_cast<double>(tenth);
    result.last_loss +=
        metrics_[metrics_.size() - 1 - i]["loss"].get<double>() / static_cast<double>(tenth);
  }
  result.metrics = std::move(metrics_);
  return result;
}

}  // namespace

TrainResult train_eagle3_head(
    const Eagle3Config& config,
    const TrainData& data,
    const TrainOptions& options,
    const std::filesystem::path& work,
    const std::string& key,
    const std::function<void(int64_t step)>& on_step
) {
  require(options.ttt_steps >= 1, "ttt-steps is {}, at least 1 is needed", options.ttt_steps);
  require(
      options.batch_tokens >= 1, "batch-tokens is {}, at least 1 is needed", options.batch_tokens
  );
  require(
      options.steps > 0 || options.epochs > 0, "neither steps nor epochs say how long to train"
  );
  require(!data.rows->train.empty(), "no training rows: all answers are shorter than two tokens");
  std::filesystem::create_directories(work);
  return Run(config, data, options).train(work, key, on_step);
}

}  // namespace hone
