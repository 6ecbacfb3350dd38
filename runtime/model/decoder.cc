#include "runtime/model/decoder.h"

#include <algorithm>
#include <mutex>
#include <string>

#include "core/base/error.h"
#include "core/format/load.h"
#include "runtime/op/embedding.h"
#include "runtime/op/rms_norm.h"

namespace hone {
namespace {

// The rows of one forward call.
struct RowPlan {
  std::vector<int32_t> tokens;
  std::vector<int64_t> positions;
  std::vector<RowPlace> places;
  std::vector<AttentionRow> attention;
  std::vector<std::vector<int64_t>> paths;  // of tree rows; attention refers to them
  std::vector<KvSequence*> sequences;
  std::vector<int64_t> wanted;     // rows whose logits are wanted, in output order
  std::vector<int64_t> first_row;  // [sequences] into `wanted`
};

void check_sequence(const SequenceInput& input, size_t index, const ModelConfig& config) {
  require(!input.tokens.empty(), "forward: sequence {} has no tokens", index);
  require(input.kv != nullptr, "forward: sequence {} has no cache", index);
  const KvLayout& layout = input.kv->layout();
  require(
      layout.layers == config.layers && layout.kv_heads == config.kv_heads &&
          layout.head_dim == config.head_dim,
      "forward: the cache of sequence {} belongs to another model",
      index
  );
  const auto count = static_cast<int64_t>(input.tokens.size());
  require(
      input.kv->length() + count <= input.kv->reserved(),
      "forward: sequence {} has room for {} tokens, {} are cached and {} come",
      index,
      input.kv->reserved(),
      input.kv->length(),
      count
  );
  for (const int32_t token : input.tokens) {
    require(
        token >= 0 && token < config.vocab,
        "forward: token id {} of sequence {} outside the vocabulary of {}",
        token,
        index,
        config.vocab
    );
  }
  require(
      input.parents.empty() || input.parents.size() == input.tokens.size(),
      "forward: {} parents for {} tokens of sequence {}",
      input.parents.size(),
      input.tokens.size(),
      index
  );
  for (size_t i = 0; i < input.parents.size(); ++i) {
    require(
        input.parents[i] >= -1 && input.parents[i] < static_cast<int32_t>(i),
        "forward: node {} of sequence {} has parent {}, expected an earlier node or -1",
        i,
        index,
        input.parents[i]
    );
  }
}

// A chain whose parents are written out is still a chain: its slots are contiguous.
bool is_chain(const SequenceInput& input) {
  for (size_t i = 0; i < input.parents.size(); ++i) {
    if (input.parents[i] != static_cast<int32_t>(i) - 1) return false;
  }
  return true;
}

void add_rows(const SequenceInput& input, size_t index, RowPlan& plan) {
  const int64_t cached = input.kv->length();
  const size_t first = plan.tokens.size();
  const bool chain = is_chain(input);
  for (size_t i = 0; i < input.tokens.size(); ++i) {
    const int64_t slot = cached + static_cast<int64_t>(i);
    AttentionRow row{.sequence = static_cast<int64_t>(index), .prefix = slot + 1, .path = {}};
    int64_t position = slot;
    if (!chain) {
      std::vector<int64_t> path;
      if (input.parents[i] >= 0) path = plan.paths[first + static_cast<size_t>(input.parents[i])];
      path.push_back(slot);
      position = cached + static_cast<int64_t>(path.size()) - 1;
      row.prefix = cached;
      plan.paths.push_back(std::move(path));
    } else {
      plan.paths.emplace_back();
    }
    plan.tokens.push_back(input.tokens[i]);
    plan.positions.push_back(position);
    plan.places.push_back({.sequence = index, .slot = slot});
    plan.attention.push_back(row);
  }
  plan.first_row.push_back(static_cast<int64_t>(plan.wanted.size()));
  const size_t skip = input.logits == LogitRows::kAll    ? 0
                      : input.logits == LogitRows::kLast ? input.tokens.size() - 1
                                                         : input.tokens.size();
  for (size_t i = skip; i < input.tokens.size(); ++i)
    plan.wanted.push_back(static_cast<int64_t>(first + i));
}

RowPlan plan_rows(std::span<const SequenceInput> batch, const ModelConfig& config) {
  RowPlan plan;
  for (size_t s = 0; s < batch.size(); ++s) {
    check_sequence(batch[s], s, config);
    require(
        std::ranges::find(plan.sequences, batch[s].kv) == plan.sequences.end(),
        "forward: sequence {} shares its cache with another of the batch",
        s
    );
    plan.sequences.push_back(batch[s].kv);
    add_rows(batch[s], s, plan);
  }
  // Spans are taken only now: the vector of paths has stopped moving.
  for (size_t row = 0; row < plan.attention.size(); ++row) {
    plan.attention[row].path = plan.paths[row];
    require(
        plan.positions[row] < config.max_positions,
        "forward: position {} of sequence {}, the model has {} (max_position_embeddings)",
        plan.positions[row],
        plan.attention[row].sequence,
        config.max_positions
    );
  }
  return plan;
}

class Decoder final : public Model {
 public:
  explicit Decoder(DecoderParts parts)
      : parts_(std::move(parts)),
        frequencies_(parts_.config.rope.inverse_frequencies(parts_.config.head_dim)) {
    for (const auto& block : parts_.blocks) block->append_modules(modules_);
    if (!parts_.head_is_embedding) modules_.push_back(&parts_.head);
  }

  [[nodiscard]] const ModelConfig& config() const override { return parts_.config; }
  [[nodiscard]] Profile profile() const override { return parts_.profile; }
  [[nodiscard]] KvLayout kv_layout() const override {
    const ModelConfig& c = parts_.config;
    return {.layers = c.layers, .kv_heads = c.kv_heads, .head_dim = c.head_dim};
  }

  [[nodiscard]] std::vector<std::string> linear_modules() const override {
    std::vector<std::string> names;
    for (const Linear* linear : modules_) names.push_back(linear->module());
    return names;
  }

  [[nodiscard]] Tensor dense_weight(std::string_view module) const override {
    return find(module).dense();
  }

  [[nodiscard]] Tensor embedding_table() const override {
    const Tensor& stored = parts_.embedding;
    Tensor table(DType::kF32, stored.shape());
    load_floats(stored.type(), stored.bytes(), stored.numel(), table.as<float>().data());
    return table;
  }

  [[nodiscard]] const std::string& content_hash() const override {
    std::call_once(hashed_, [this] { hash_ = parts_.checkpoint->content_hash(); });
    return hash_;
  }

  void forward(
      std::span<const SequenceInput> batch,
      ForwardOutput& output,
      TapSink* taps,
      const WeightOverrides* overrides
  ) override {
    require(!batch.empty(), "forward: the batch is empty");
    if (overrides != nullptr) check_overrides(*overrides);
    const RowPlan plan = plan_rows(batch, parts_.config);
    const auto rows = static_cast<int64_t>(plan.tokens.size());
    const RopeRows rope = rope_rows(frequencies_, plan.positions);
    BlockContext context{
        .config = parts_.config,
        .rows = rows,
        .layer = 0,
        .rope = rope,
        .sequences = plan.sequences,
        .places = plan.places,
        .attention = plan.attention,
        .call = {.taps = taps, .overrides = overrides, .scratch = &workspace_.quantized},
        .workspace = workspace_};
    hidden_.resize(static_cast<size_t>(rows * parts_.config.hidden));
    embedding(parts_.embedding.view(), plan.tokens, hidden_);
    for (const auto& block : parts_.blocks) {
      block->forward(context, hidden_);
      offer(taps, {.kind = TapKind::kBlockOutput, .layer = context.layer, .module = {}}, hidden_);
      ++context.layer;
    }
    head(context.call, plan, output);
    for (const SequenceInput& input : batch)
      input.kv->advance(static_cast<int64_t>(input.tokens.size()));
  }

 private:
  [[nodiscard]] const Linear& find(std::string_view module) const {
    const auto it = std::ranges::find(modules_, module, &Linear::module);
    require(
        it != modules_.end(),
        "the model has no linear module \"{}\"; its first is {}",
        module,
        modules_.front()->module()
    );
    return **it;
  }

  void check_overrides(const WeightOverrides& overrides) const {
    for (const auto& [module, weight] : overrides) {
      const Linear& linear = find(module);
      require(
          weight.type() == DType::kF32 && weight.shape() == Shape({linear.out(), linear.in()}),
          "override of {} is {} {}, expected F32 [{}, {}]",
          module,
          dtype_name(weight.type()),
          weight.shape().str(),
          linear.out(),
          linear.in()
      );
    }
  }

  void offer(TapSink* taps, const TapPoint& point, std::span<const float> rows) const {
    if (taps == nullptr || !taps->wants(point)) return;
    const int64_t width = parts_.config.hidden;
    taps->on(
        point,
        {.type = DType::kF32,
         .shape = {static_cast<int64_t>(rows.size()) / width, width},
         .data = reinterpret_cast<const std::byte*>(rows.data())}
    );
  }

  // Final norm and logits. Only the wanted rows are normed unless somebody listens to all.
  void head(const LinearCall& call, const RowPlan& plan, ForwardOutput& output) {
    const int64_t width = parts_.config.hidden;
    const auto eps = static_cast<float>(parts_.config.rms_eps);
    const TapPoint norm_point{.kind = TapKind::kFinalNorm, .layer = -1, .module = {}};
    const TapPoint head_point{
        .kind = TapKind::kLinearInput, .layer = -1, .module = parts_.head.module()};
    const bool head_is_module = !parts_.head_is_embedding;
    if (call.taps != nullptr &&
        (call.taps->wants(norm_point) || (head_is_module && call.taps->wants(head_point)))) {
      workspace_.normed.resize(hidden_.size());
      rms_norm(hidden_, parts_.final_norm, eps, workspace_.normed);
      offer(call.taps, norm_point, workspace_.normed);
      if (head_is_module) offer(call.taps, head_point, workspace_.normed);
    }
    const auto wanted = static_cast<int64_t>(plan.wanted.size());
    output.first_row = plan.first_row;
    output.logits = Tensor(DType::kF32, {wanted, parts_.config.vocab});
    if (wanted == 0) return;
    workspace_.normed.resize(static_cast<size_t>(wanted * width));
    for (int64_t i = 0; i < wanted; ++i) {
      const auto from = hidden_.begin() + plan.wanted[static_cast<size_t>(i)] * width;
      std::copy(from, from + width, workspace_.normed.begin() + i * width);
    }
    rms_norm(workspace_.normed, parts_.final_norm, eps, workspace_.normed);
    parts_.head.multiply(call, workspace_.normed, output.logits.as<float>());
  }

  DecoderParts parts_;
  std::vector<double> frequencies_;
  std::vector<const Linear*> modules_;
  std::vector<float> hidden_;
  Workspace workspace_;
  mutable std::once_flag hashed_;
  mutable std::string hash_;
};

}  // namespace

std::unique_ptr<Model> make_decoder(DecoderParts parts) {
  return std::make_unique<Decoder>(std::move(parts));
}

}  // namespace hone
