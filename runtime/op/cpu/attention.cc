// Attention of the queries of one sequence and KV head, tile by tile (runtime/op/attention.h).
#include "runtime/op/attention.h"

#include "core/device/simd.h"
#include "runtime/op/cpu/dot_block.h"
#include "runtime/op/cpu/kernels.h"
#include "runtime/op/cpu/vector_math.h"

namespace hone::HONE_ISA {
namespace {

constexpr int kTile = static_cast<int>(kAttentionTile);
static_assert(kTile == 2 * kLanes);

// Rows of one tile in logical order; only the first `count` pointers are set.
struct Tile {
  const float* keys[kTile];
  const float* values[kTile];
  int count;
};

// Online softmax of one query.
struct QueryState {
  float* sums;     // [head_dim padded to 16]
  float* weights;  // [kTile]: scores, then probabilities
  float top;
  float total;
};

// scores[q][j] for kQueries queries that see the same tile.
template <int kQueries>
HONE_SIMD void scores(
    const float* const* q, const Tile& tile, int64_t head_dim, QueryState* const* states
) {
  float sums[kQueries * kTileKeys];
  int j = 0;
  for (; j + kTileKeys <= tile.count; j += kTileKeys) {
    dot_block<kQueries, kTileKeys>(q, tile.keys + j, head_dim, sums);
    for (int i = 0; i < kQueries; ++i) {
      for (int key = 0; key < kTileKeys; ++key) {
        states[i]->weights[j + key] = sums[i * kTileKeys + key];
      }
    }
  }
  for (; j < tile.count; ++j) {
    dot_block<kQueries, 1>(q, tile.keys + j, head_dim, sums);
    for (int i = 0; i < kQueries; ++i) states[i]->weights[j] = sums[i];
  }
}

// Columns [column, column + 16 kVectors) of sums = sums * correction + sum_j p_j v_j.
template <int kVectors>
HONE_SIMD void weighted_sum(
    const QueryState& state, const Tile& tile, f32x16 correction, int64_t column
) {
  f32x16 acc[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    acc[v] = load(state.sums + column + 16 * v) * correction;
  }
  for (int j = 0; j < tile.count; ++j) {
    const f32x16 p = set1(state.weights[j]);
    const float* value = tile.values[j] + column;
    for (int v = 0; v < kVectors; ++v) acc[v] = fma(p, load(value + 16 * v), acc[v]);
  }
  for (int v = 0; v < kVectors; ++v) store(state.sums + column + 16 * v, acc[v]);
}

HONE_SIMD void weighted_sum_partial(
    const QueryState& state, const Tile& tile, f32x16 correction, const int64_t (&range)[2]
) {
  const int64_t left = range[1] - range[0];
  f32x16 acc = load(state.sums + range[0]) * correction;
  for (int j = 0; j < tile.count; ++j) {
    acc = fma(set1(state.weights[j]), load_partial(tile.values[j] + range[0], left), acc);
  }
  store(state.sums + range[0], acc);
}

// Takes the scores of one tile into the running softmax.
HONE_SIMD void update(QueryState& state, const Tile& tile, float scale, int64_t head_dim) {
  for (int j = tile.count; j < kTile; ++j) state.weights[j] = kNegativeInfinity;
  // Missing keys stay at -inf: scale is positive.
  const f32x16 s0 = load(state.weights) * set1(scale);
  const f32x16 s1 = load(state.weights + 16) * set1(scale);
  const float tile_top = hmax(max(s0, s1));
  const float top = state.top > tile_top ? state.top : tile_top;
  const f32x16 correction = exp(set1(state.top) - set1(top));
  const f32x16 p0 = exp(s0 - set1(top));
  const f32x16 p1 = exp(s1 - set1(top));
  store(state.weights, p0);
  store(state.weights + 16, p1);
  alignas(64) float factor[16];
  store(factor, correction);
  state.total = state.total * factor[0] + hsum(p0 + p1);
  state.top = top;
  int64_t column = 0;
  if constexpr (HONE_ISA_WIDTH(HONE_ISA) == 512) {
    for (; column + 128 <= head_dim; column += 128) {
      weighted_sum<8>(state, tile, correction, column);
    }
  }
  for (; column + 64 <= head_dim; column += 64) weighted_sum<4>(state, tile, correction, column);
  for (; column + 16 <= head_dim; column += 16) weighted_sum<1>(state, tile, correction, column);
  if (column < head_dim) weighted_sum_partial(state, tile, correction, {column, head_dim});
}

// Queries that see the same tile, at most kTileQueries.
struct Batch {
  const float* q[kTileQueries];
  QueryState* states[kTileQueries];
  int count = 0;
};

template <int kQueries>
HONE_SIMD void batch_scores(const Batch& batch, const Tile& tile, int64_t head_dim) {
  if constexpr (kQueries > 1) {
    if (batch.count < kQueries) return batch_scores<kQueries - 1>(batch, tile, head_dim);
  }
  scores<kQueries>(batch.q, tile, head_dim, batch.states);
}

void run_batch(Batch& batch, const Tile& tile, const cpu::AttentionCall& call) {
  if (batch.count == 0) return;
  batch_scores<kTileQueries>(batch, tile, call.head_dim);
  for (int i = 0; i < batch.count; ++i) {
    update(*batch.states[i], tile, call.scale, call.head_dim);
  }
  batch.count = 0;
}

// Rows of slot `slot` in the pages.
HONE_SIMD void set_row(const cpu::AttentionCall& call, int64_t slot, int j, Tile& tile) {
  const int64_t page = slot / call.page_tokens;
  const int64_t offset = call.head_offset + slot % call.page_tokens * call.head_dim;
  tile.keys[j] = call.key_pages[page] + offset;
  tile.values[j] = call.value_pages[page] + offset;
}

// Key `position` of a query in logical order.
HONE_SIMD int64_t slot_of(const cpu::AttentionQuery& query, int64_t position) {
  return position < query.prefix ? position : query.path[position - query.prefix];
}

// All queries against logical positions [first, first + kTile).
void run_tile(const cpu::AttentionCall& call, int64_t first, QueryState* states) {
  Tile shared;
  shared.count = 0;
  Batch batch;
  for (int64_t i = 0; i < call.count; ++i) {
    const cpu::AttentionQuery& query = call.queries[i];
    const int64_t visible = query.prefix + query.path_length - first;
    if (visible <= 0) continue;
    if (query.prefix >= first + kTile) {
      if (shared.count == 0) {
        for (int j = 0; j < kTile; ++j) set_row(call, first + j, j, shared);
        shared.count = kTile;
      }
      batch.q[batch.count] = query.q;
      batch.states[batch.count] = states + i;
      if (++batch.count == kTileQueries) run_batch(batch, shared, call);
      continue;
    }
    Tile own;
    own.count = visible < kTile ? static_cast<int>(visible) : kTile;
    for (int j = 0; j < own.count; ++j) set_row(call, slot_of(query, first + j), j, own);
    QueryState* state = states + i;
    scores<1>(&query.q, own, call.head_dim, &state);
    update(*state, own, call.scale, call.head_dim);
  }
  run_batch(batch, shared, call);
}

void finish(const QueryState& state, int64_t head_dim, float* out) {
  const f32x16 inverse = set1(1.0F / state.total);
  int64_t i = 0;
  for (; i + 16 <= head_dim; i += 16) store(out + i, load(state.sums + i) * inverse);
  if (i < head_dim) store_partial(out + i, head_dim - i, load(state.sums + i) * inverse);
}

void attention(const cpu::AttentionCall& call) {
  QueryState states[cpu::kAttentionQueries];
  const int64_t padded = (call.head_dim + 15) / 16 * 16;
  int64_t longest = 0;
  for (int64_t i = 0; i < call.count; ++i) {
    QueryState& state = states[i];
    state.sums = call.scratch + i * (padded + kTile);
    state.weights = state.sums + padded;
    state.top = kNegativeInfinity;
    state.total = 0.0F;
    for (int64_t column = 0; column < padded; column += 16) store(state.sums + column, zero());
    const int64_t visible = call.queries[i].prefix + call.queries[i].path_length;
    longest = visible > longest ? visible : longest;
  }
  for (int64_t first = 0; first < longest; first += kTile) run_tile(call, first, states);
  for (int64_t i = 0; i < call.count; ++i) {
    finish(states[i], call.head_dim, call.queries[i].out);
  }
}

}  // namespace

void fill_attention(cpu::Kernels& table) {
  table.attention = attention;
}

}  // namespace hone::HONE_ISA
