#include "runtime/model/block/gqa.h"

#include <cmath>
#include <cstring>

#include "runtime/model/schema.h"
#include "runtime/op/attention.h"

namespace hone {
namespace {

void store(const BlockContext& context, std::span<const float> k, std::span<const float> v) {
  const int64_t heads = context.config.kv_heads;
  const int64_t dim = context.config.head_dim;
  const size_t bytes = static_cast<size_t>(dim) * sizeof(float);
  for (int64_t row = 0; row < context.rows; ++row) {
    const RowPlace& place = context.places[static_cast<size_t>(row)];
    KvSequence& sequence = *context.sequences[place.sequence];
    for (int64_t head = 0; head < heads; ++head) {
      const int64_t from = (row * heads + head) * dim;
      std::memcpy(
          sequence.key(context.layer, head, place.slot), &k[static_cast<size_t>(from)], bytes
      );
      std::memcpy(
          sequence.value(context.layer, head, place.slot), &v[static_cast<size_t>(from)], bytes
      );
    }
  }
}

// Page tables of this layer. Heads follow each other in a page, so that head 0's tile is the start.
void collect_pages(const BlockContext& context) {
  Workspace& work = context.workspace;
  size_t total = 0;
  for (const KvSequence* sequence : context.sequences)
    total += 2 * static_cast<size_t>(sequence->pages());
  work.pages.resize(total);
  work.kv.clear();
  size_t at = 0;
  for (const KvSequence* sequence : context.sequences) {
    const auto count = static_cast<size_t>(sequence->pages());
    const std::span<const float*> keys(work.pages.data() + at, count);
    const std::span<const float*> values(work.pages.data() + at + count, count);
    for (size_t page = 0; page < count; ++page) {
      keys[page] = sequence->key_page(context.layer, 0, static_cast<int64_t>(page));
      values[page] = sequence->value_page(context.layer, 0, static_cast<int64_t>(page));
    }
    work.kv.push_back({.key_pages = keys, .value_pages = values});
    at += 2 * count;
  }
}

}  // namespace

GqaBlock::GqaBlock(WeightReader& reader, const ModelConfig& config, int64_t layer) {
  const auto read = [&](Role role, int64_t rows, int64_t cols) {
    return reader.linear(
        decoder_names::layer_module(layer, role),
        layer,
        {.rows = rows, .cols = cols, .bias = config.attention_bias}
    );
  };
  const int64_t q_size = config.heads * config.head_dim;
  const int64_t kv_size = config.kv_heads * config.head_dim;
  q_ = read(Role::kAttnQ, q_size, config.hidden);
  k_ = read(Role::kAttnK, kv_size, config.hidden);
  v_ = read(Role::kAttnV, kv_size, config.hidden);
  o_ = read(Role::kAttnO, config.hidden, q_size);
}

void GqaBlock::forward(const BlockContext& context, std::span<const float> x, std::span<float> y)
    const {
  const ModelConfig& config = context.config;
  Workspace& work = context.workspace;
  work.q.resize(static_cast<size_t>(context.rows * q_.out()));
  work.k.resize(static_cast<size_t>(context.rows * k_.out()));
  work.v.resize(static_cast<size_t>(context.rows * v_.out()));
  q_.forward(context.call, x, work.q);
  k_.forward(context.call, x, work.k);
  v_.forward(context.call, x, work.v);
  rope(context.rope, config.head_dim, work.q);
  rope(context.rope, config.head_dim, work.k);
  store(context, work.k, work.v);
  collect_pages(context);
  attention(
      {.heads = config.heads,
       .kv_heads = config.kv_heads,
       .head_dim = config.head_dim,
       .page_tokens = kPageTokens,
       .scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(config.head_dim))),
       .sequences = work.kv,
       .rows = context.attention},
      work.q,
      work.q
  );
  o_.forward(context.call, work.q, y);
}

void GqaBlock::append_modules(std::vector<const Linear*>& modules) const {
  for (const Linear* linear : {&q_, &k_, &v_, &o_}) modules.push_back(linear);
}

}  // namespace hone
