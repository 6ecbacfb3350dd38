// Grouped-query attention of query rows over paged keys and values, chains and trees alike.
//
// For query row r and head h, with the visible keys k_0 .. k_{L-1} in logical order:
//   s_j = scale * dot(q, k_j),  out = sum_j softmax(s)_j * v_j
// The logical order is the contiguous prefix of slots 0 .. prefix-1 followed by the slots of
// `path`. For plain decoding the path is empty; a node of a draft tree lists its ancestors' slots
// and its own. What a row sees is thus a sequence of L keys, wherever they are stored.
//
// Order of the arithmetic of one (row, head), which depends on that sequence alone:
//   1. Logical positions are cut into tiles of kAttentionTile = 32, aligned to position 0.
//   2. s_j: dot in the canonical order of runtime/op/matmul.h (K = head_dim, blocks of 1024), then
//      times scale.
//   3. Online softmax over tiles in order: m' = max(m, tile max), p_j = exp(s_j - m'),
//      c = exp(m - m'), l' = l * c + sum of p (32 slots, missing ones 0, as two 16-lane halves
//      added, then the lane tree), acc' = acc * c, then acc' = fma(p_j, v_j, acc') for j ascending.
//   4. out = acc * (1 / l).
// So a row's result is bitwise the same in any batch, chunk, page size, thread count and ISA, and
// the same whether its keys form a chain or were selected from a tree.
#pragma once

#include <cstdint>
#include <span>

namespace hone {

// Tokens in a tile; the page size of the cache must be a multiple of it.
inline constexpr int64_t kAttentionTile = 32;

// One sequence's keys and values of one layer. Slot t of KV head g lies at
// pages[t / page_tokens] + (g * page_tokens + t % page_tokens) * head_dim.
struct AttentionKv {
  std::span<const float* const> key_pages;    // each [kv_heads, page_tokens, head_dim] f32
  std::span<const float* const> value_pages;  // same layout and count
};

// One query row.
struct AttentionRow {
  int64_t sequence = 0;           // index into AttentionArgs::sequences
  int64_t prefix = 0;             // slots 0 .. prefix-1 are visible
  std::span<const int64_t> path;  // further visible slots, in logical order; empty for a chain
};

struct AttentionArgs {
  int64_t heads = 0;
  int64_t kv_heads = 0;  // divides heads; head h reads KV head h / (heads / kv_heads)
  int64_t head_dim = 0;  // at most 1024
  int64_t page_tokens = kAttentionTile;
  float scale = 1.0F;  // 1 / sqrt(head_dim) for Llama
  std::span<const AttentionKv> sequences;
  std::span<const AttentionRow> rows;
};

// q, out: [rows, heads, head_dim] f32, may alias. Each row must see at least one key. UsageError on
// sizes, slots or sequences out of range. Parallel over rows and KV heads.
void attention(const AttentionArgs& args, std::span<const float> q, std::span<float> out);

}  // namespace hone
