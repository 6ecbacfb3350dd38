#include "runtime/model/draft/eagle3_runner.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/format/load.h"
#include "runtime/model/draft/eagle3_forward.h"
#include "runtime/op/add.h"
#include "runtime/op/attention.h"
#include "runtime/op/embedding.h"
#include "runtime/op/rms_norm.h"
#include "runtime/op/rope.h"
#include "runtime/op/silu_mul.h"

namespace hone {
namespace {

static_assert(kPageTokens % kAttentionTile == 0);

// Copies of the listed rows.
Tensor take_rows(const Tensor& x, const std::vector<int64_t>& rows) {
  const int64_t width = x.shape().dim(1);
  Tensor y(DType::kF32, {static_cast<int64_t>(rows.size()), width});
  const float* from = x.as<float>().data();
  float* to = y.as<float>().data();
  for (const int64_t row : rows) to = std::copy_n(from + row * width, width, to);
  return y;
}

}  // namespace

// The operations of one pass.
class Eagle3RunnerOps {
 public:
  using Value = Tensor;
  using Weight = Eagle3Runner::Weight;
  struct Pass {
    std::span<const Eagle3Rows> sequences;
    RopeRows all;                      // positions of all rows
    RopeRows of_outputs;               // positions of the output rows
    std::vector<int64_t> output_rows;  // [outputs] row in the pass
  };

  explicit Eagle3RunnerOps(const Eagle3Config& config) : config_(config) {}

  Value linear(const Value& x, const Weight& w) const {
    Tensor y(DType::kF32, {x.shape().dim(0), w.matrix.n()});
    matmul(w.matrix, x.as<float>(), y.as<float>());
    return y;
  }
  Value rms_norm(const Value& x, const Weight& w) const {
    Tensor y(DType::kF32, x.shape());
    hone::rms_norm(x.as<float>(), w.vector, static_cast<float>(config_.rms_eps), y.as<float>());
    return y;
  }
  Value add(const Value& a, const Value& b) const {
    Tensor y = b.clone();
    hone::add(a.as<float>(), y.as<float>());
    return y;
  }
  Value silu_mul(const Value& gate, const Value& up) const {
    Tensor y(DType::kF32, gate.shape());
    hone::silu_mul(gate.as<float>(), up.as<float>(), y.as<float>());
    return y;
  }
  Value concat(const Value& a, const Value& b) const {
    const int64_t rows = a.shape().dim(0);
    const int64_t p = a.shape().dim(1);
    const int64_t q = b.shape().dim(1);
    Tensor y(DType::kF32, {rows, p + q});
    float* to = y.as<float>().data();
    for (int64_t row = 0; row < rows; ++row) {
      to = std::copy_n(a.as<float>().data() + row * p, p, to);
      to = std::copy_n(b.as<float>().data() + row * q, q, to);
    }
    return y;
  }
  Value outputs(Pass& pass, const Value& x) const {
    const bool all = std::cmp_equal(pass.output_rows.size(), x.shape().dim(0));
    return all ? x : take_rows(x, pass.output_rows);
  }

  void store(Pass& pass, const Value& keys, const Value& values) const {
    Tensor rotated = keys.clone();
    rope(pass.all, config_.head_dim, rotated.as<float>());
    const float* k = rotated.as<float>().data();
    const float* v = values.as<float>().data();
    for (const Eagle3Rows& sequence : pass.sequences)
      for (int64_t row = 0; row < sequence.count; ++row)
        for (int64_t head = 0; head < config_.kv_heads; ++head) {
          const int64_t slot = sequence.kv->length() + row;
          std::copy_n(k, config_.head_dim, sequence.kv->key(0, head, slot));
          std::copy_n(v, config_.head_dim, sequence.kv->value(0, head, slot));
          k += config_.head_dim;
          v += config_.head_dim;
        }
  }

  Value attend(Pass& pass, const Value& queries) const {
    Tensor q = queries.clone();
    rope(pass.of_outputs, config_.head_dim, q.as<float>());
    std::vector<std::vector<const float*>> keys;
    std::vector<std::vector<const float*>> values;
    std::vector<AttentionRow> rows;
    for (const Eagle3Rows& sequence : pass.sequences) {
      const int64_t length = sequence.kv->length() + sequence.count;
      std::vector<const float*> key_pages;
      std::vector<const float*> value_pages;
      for (int64_t page = 0; page * kPageTokens < length; ++page) {
        key_pages.push_back(sequence.kv->key_page(0, 0, page));
        value_pages.push_back(sequence.kv->value_page(0, 0, page));
      }
      for (int64_t row = sequence.count - sequence.outputs; row < sequence.count; ++row)
        rows.push_back({static_cast<int64_t>(keys.size()), sequence.kv->length() + row + 1, {}});
      keys.push_back(std::move(key_pages));
      values.push_back(std::move(value_pages));
    }
    std::vector<AttentionKv> caches;
    for (size_t i = 0; i < keys.size(); ++i) caches.push_back({keys[i], values[i]});
    AttentionArgs args;
    args.heads = config_.heads;
    args.kv_heads = config_.kv_heads;
    args.head_dim = config_.head_dim;
    args.page_tokens = kPageTokens;
    args.scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(config_.head_dim)));
    args.sequences = caches;
    args.rows = rows;
    Tensor out(DType::kF32, q.shape());
    if (!rows.empty()) attention(args, q.as<float>(), out.as<float>());
    return out;
  }

 private:
  const Eagle3Config& config_;
};

Eagle3Runner::Eagle3Runner(Eagle3Head head, Tensor target_embeddings)
    : head_(std::move(head)), embeddings_(std::move(target_embeddings)) {
  if (head_.embeddings) embeddings_ = *head_.embeddings;
  require(
      embeddings_.shape() == Shape({head_.config.vocab, head_.config.hidden}),
      "draft head: the target's embedding is {}, the head needs [{}, {}]",
      embeddings_.shape().str(),
      head_.config.vocab,
      head_.config.hidden
  );
  const auto tensors = eagle3_members(head_.weights);
  const auto weights = eagle3_members(weights_);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& tensor = *tensors[i];
    if (tensor.shape().rank() == 2) {
      weights[i]->matrix = LinearWeight::dense(tensor);
      continue;
    }
    weights[i]->vector.resize(static_cast<size_t>(tensor.numel()));
    load_floats(tensor.type(), tensor.bytes(), tensor.numel(), weights[i]->vector.data());
  }
  inverse_frequencies_ = head_.config.rope.inverse_frequencies(head_.config.head_dim);
}

KvLayout Eagle3Runner::kv_layout() const {
  return {1, head_.config.kv_heads, head_.config.head_dim};
}

Tensor Eagle3Runner::fuse(const Tensor& taps) {
  Eagle3RunnerOps ops(head_.config);
  return eagle3_fuse(ops, weights_, taps);
}

Tensor Eagle3Runner::step(
    std::span<const Eagle3Rows> sequences, std::span<const int32_t> tokens, const Tensor& features
) {
  Eagle3RunnerOps::Pass pass{sequences, {}, {}, {}};
  std::vector<int64_t> positions;
  std::vector<int64_t> output_positions;
  for (const Eagle3Rows& sequence : sequences)
    for (int64_t row = 0; row < sequence.count; ++row) {
      const int64_t position = sequence.kv->length() + row;
      if (row >= sequence.count - sequence.outputs) {
        pass.output_rows.push_back(static_cast<int64_t>(positions.size()));
        output_positions.push_back(position);
      }
      positions.push_back(position);
    }
  const auto rows = static_cast<int64_t>(positions.size());
  check(
      std::cmp_equal(tokens.size(), rows) && features.shape() == Shape({rows, head_.config.hidden}),
      "draft head: {} tokens and features {} for {} rows",
      tokens.size(),
      features.shape().str(),
      rows
  );
  pass.all = rope_rows(inverse_frequencies_, positions);
  pass.of_outputs = rope_rows(inverse_frequencies_, output_positions);
  Tensor embedded(DType::kF32, {rows, head_.config.hidden});
  embedding(embeddings_.view(), tokens, embedded.as<float>());
  Eagle3RunnerOps ops(head_.config);
  Tensor result = eagle3_layer(ops, weights_, pass, embedded, features);
  for (const Eagle3Rows& sequence : sequences) sequence.kv->advance(sequence.count);
  return result;
}

Tensor Eagle3Runner::logits(const Tensor& outputs) {
  Eagle3RunnerOps ops(head_.config);
  return eagle3_logits(ops, weights_, outputs);
}

std::vector<int32_t> Eagle3Runner::best_tokens(const Tensor& outputs) {
  const Tensor scores = logits(outputs);
  const int64_t width = head_.config.draft_vocab;
  std::vector<int32_t> best;
  for (int64_t row = 0; row < scores.shape().dim(0); ++row) {
    const float* first = scores.as<float>().data() + row * width;
    const auto draft = static_cast<size_t>(std::max_element(first, first + width) - first);
    best.push_back(head_.draft_to_target[draft]);
  }
  return best;
}

}  // namespace hone
