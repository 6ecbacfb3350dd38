#include "runtime/spec/eagle3.h"

#include <algorithm>
#include <utility>

#include "core/base/log.h"
#include "runtime/model/draft/eagle3_runner.h"

namespace hone {
namespace {

// Copies the tapped rows of the last forward call.
class FeatureTaps : public TapSink {
 public:
  FeatureTaps(std::vector<int64_t> layers, int64_t width)
      : layers_(std::move(layers)), width_(width) {}

  [[nodiscard]] bool wants(const TapPoint& point) const override {
    return point.kind == TapKind::kBlockOutput &&
           std::find(layers_.begin(), layers_.end(), point.layer) != layers_.end();
  }
  void on(const TapPoint& point, const TensorView& rows) override {
    const auto tap = std::find(layers_.begin(), layers_.end(), point.layer) - layers_.begin();
    rows_ = rows.shape.dim(0);
    features_.resize(static_cast<size_t>(rows_ * stride()));
    const std::span<const float> values = rows.as<float>();
    for (int64_t row = 0; row < rows_; ++row)
      std::copy_n(
          values.data() + row * width_, width_, features_.data() + row * stride() + tap * width_
      );
  }

  // Floats of one row: all taps side by side.
  [[nodiscard]] int64_t stride() const { return static_cast<int64_t>(layers_.size()) * width_; }
  [[nodiscard]] std::span<const float> row(int64_t index) const {
    check(index >= 0 && index < rows_, "eagle3: row {} of {} tapped rows", index, rows_);
    return std::span(features_).subspan(
        static_cast<size_t>(index * stride()), static_cast<size_t>(stride())
    );
  }

 private:
  std::vector<int64_t> layers_;
  int64_t width_;
  int64_t rows_ = 0;
  std::vector<float> features_;
};

// Rows observed but not yet in the cache: token t + 1 with the feature of t. The feature of the
// last observed token may still wait for its token.
struct SequenceState : ProposerState {
  explicit SequenceState(KvPool& pool) : kv(pool) {}
  KvSequence kv;
  std::vector<int32_t> tokens;
  std::vector<float> features;
  bool last_unpaired = false;
};

class Eagle3Proposer : public Proposer {
 public:
  Eagle3Proposer(Eagle3Head head, Tensor embeddings, int64_t max_pages)
      : runner_(std::move(head), std::move(embeddings)),
        pool_(runner_.kv_layout(), max_pages),
        taps_(runner_.config().taps, runner_.config().target_hidden) {}

  [[nodiscard]] std::string_view name() const override { return "eagle3"; }
  std::unique_ptr<ProposerState> begin() override { return std::make_unique<SequenceState>(pool_); }
  TapSink* taps() override { return &taps_; }

  void observe(
      ProposerState& state,
      std::span<const int32_t> tokens,
      std::span<const int64_t> rows,
      int32_t next
  ) override {
    check(tokens.size() == rows.size(), "eagle3: {} tokens, {} rows", tokens.size(), rows.size());
    auto& sequence = static_cast<SequenceState&>(state);
    if (tokens.empty()) return;
    if (sequence.last_unpaired) sequence.tokens.push_back(tokens.front());
    for (size_t i = 0; i < tokens.size(); ++i) {
      const std::span<const float> feature = taps_.row(rows[i]);
      sequence.features.insert(sequence.features.end(), feature.begin(), feature.end());
      if (i + 1 < tokens.size()) sequence.tokens.push_back(tokens[i + 1]);
    }
    sequence.last_unpaired = next < 0;
    if (next >= 0) sequence.tokens.push_back(next);
  }

  std::vector<Draft> propose(
      std::span<ProposerState* const> states, std::span<const int> max_tokens
  ) override;

 private:
  struct Chain {
    size_t index = 0;  // in the caller's list
    SequenceState* sequence = nullptr;
    int64_t observed = 0;  // cache length without drafted tokens
    int limit = 0;
  };
  std::vector<Chain> startable(
      std::span<ProposerState* const> states, std::span<const int> max_tokens
  ) const;
  Tensor take_in(std::vector<Chain>& chains);

  Eagle3Runner runner_;
  KvPool pool_;
  FeatureTaps taps_;
};

// The sequences that can draft now: something new was observed, and there is room for it.
std::vector<Eagle3Proposer::Chain> Eagle3Proposer::startable(
    std::span<ProposerState* const> states, std::span<const int> max_tokens
) const {
  std::vector<Chain> chains;
  for (size_t i = 0; i < states.size(); ++i) {
    auto* sequence = static_cast<SequenceState*>(states[i]);
    const auto rows = static_cast<int64_t>(sequence->tokens.size());
    if (max_tokens[i] <= 0 || rows == 0 || sequence->last_unpaired) continue;
    const int64_t positions = runner_.config().max_positions - sequence->kv.length() - rows + 1;
    const int limit = static_cast<int>(std::min<int64_t>(max_tokens[i], positions));
    if (limit <= 0 || !sequence->kv.reserve(rows + limit - 1)) continue;
    chains.push_back({i, sequence, sequence->kv.length() + rows, limit});
  }
  return chains;
}

// Puts the observed rows into the caches; returns the output of each sequence's last row.
Tensor Eagle3Proposer::take_in(std::vector<Chain>& chains) {
  std::vector<Eagle3Rows> rows;
  std::vector<int32_t> tokens;
  size_t floats = 0;
  for (const Chain& chain : chains) floats += chain.sequence->features.size();
  Tensor taps(DType::kF32, {static_cast<int64_t>(floats) / taps_.stride(), taps_.stride()});
  float* to = taps.as<float>().data();
  for (Chain& chain : chains) {
    SequenceState& sequence = *chain.sequence;
    to = std::copy(sequence.features.begin(), sequence.features.end(), to);
    tokens.insert(tokens.end(), sequence.tokens.begin(), sequence.tokens.end());
    rows.push_back({&sequence.kv, static_cast<int64_t>(sequence.tokens.size()), 1});
    sequence.features.clear();
    sequence.tokens.clear();
  }
  return runner_.step(rows, tokens, runner_.fuse(taps));
}

std::vector<Draft> Eagle3Proposer::propose(
    std::span<ProposerState* const> states, std::span<const int> max_tokens
) {
  check(states.size() == max_tokens.size(), "eagle3: one token limit per sequence is needed");
  std::vector<Draft> drafts(states.size());
  std::vector<Chain> chains = startable(states, max_tokens);
  if (chains.empty()) return drafts;
  const std::vector<Chain> all = chains;
  Tensor outputs = take_in(chains);
  while (true) {
    const std::vector<int32_t> tokens = runner_.best_tokens(outputs);
    std::vector<Chain> going;
    std::vector<int32_t> going_tokens;
    std::vector<Eagle3Rows> rows;
    std::vector<size_t> kept;
    for (size_t i = 0; i < chains.size(); ++i) {
      Draft& draft = drafts[chains[i].index];
      draft.push_back({tokens[i], static_cast<int32_t>(draft.size()) - 1, -1.0F});
      if (std::cmp_greater_equal(draft.size(), chains[i].limit)) continue;
      going.push_back(chains[i]);
      going_tokens.push_back(tokens[i]);
      rows.push_back({&chains[i].sequence->kv, 1, 1});
      kept.push_back(i);
    }
    if (going.empty()) break;
    const int64_t width = outputs.shape().dim(1);
    Tensor features(DType::kF32, {static_cast<int64_t>(kept.size()), width});
    for (size_t i = 0; i < kept.size(); ++i)
      std::copy_n(
          outputs.as<float>().data() + static_cast<int64_t>(kept[i]) * width,
          width,
          features.as<float>().data() + static_cast<int64_t>(i) * width
      );
    outputs = runner_.step(rows, going_tokens, features);
    chains = std::move(going);
  }
  for (const Chain& chain : all) chain.sequence->kv.truncate(chain.observed);
  return drafts;
}

}  // namespace

std::unique_ptr<Proposer> make_eagle3_proposer(
    Eagle3Head head, Tensor embeddings, int64_t max_pages
) {
  return std::make_unique<Eagle3Proposer>(std::move(head), std::move(embeddings), max_pages);
}

Eagle3Loaded load_eagle3_proposer(
    const std::filesystem::path& folder, const Model& target, const Eagle3Options& options
) {
  const std::string source = folder.string();
  Eagle3Head head = read_eagle3(folder, target.config().layers);
  require_data(
      head.config.vocab == target.config().vocab &&
          head.config.target_hidden == target.config().hidden,
      "{}: the head is made for a vocabulary of {} and {} hidden units, this target has {} and {}",
      source,
      head.config.vocab,
      head.config.target_hidden,
      target.config().vocab,
      target.config().hidden
  );
  Tensor embeddings = target.embedding_table();
  Eagle3Loaded loaded;
  loaded.fit = TargetFit::kOther;
  if (head.contract) {
    const TargetIdentity identity = identify_target(target, embeddings);
    loaded.fit = check_contract(*head.contract, identity, options.allow_other_target, source);
  } else {
    require_data(
        options.allow_other_target,
        "{}: config.json has no hone_contract, so nothing says that the head belongs to this "
        "target; "
        "pass --allow-other-target to try it (output stays right, acceptance is not known)",
        source
    );
  }
  if (loaded.fit == TargetFit::kSameBase)
    log_warning(
        "{}: the head was trained on another variant (for instance another quantization) of this "
        "model; expect a slightly lower acceptance",
        source
    );
  if (loaded.fit == TargetFit::kOther)
    log_warning("{}: the head was not trained on this target", source);
  loaded.config = head.config;
  loaded.proposer = make_eagle3_proposer(std::move(head), std::move(embeddings), options.max_pages);
  return loaded;
}

}  // namespace hone
