// Attention of one unrolled step of EAGLE-3's training-time test.
//
// A batch packs sequences: `total` rows, of which `active` go on (the rows that a draft can start
// from). Row a of q belongs to packed row row[a]. In step k it attends
//   - step-0 keys of its own sequence up to and including its own row (causal), and
//   - its own keys of steps 1..k, one each (the drafted tokens before this one: a diagonal).
//   o = softmax(scale * scores) v over those, group of heads / kv_heads query heads per kv head.
// Source: EAGLE-3 (arXiv 2503.01840), training-time test.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "speculator/autograd/tape.h"

namespace hone {

// One packed sequence.
struct TttSequence {
  int64_t begin = 0;  // packed rows [begin, begin + length)
  int64_t length = 0;
  int64_t active_begin = 0;  // active rows [active_begin, active_begin + active_count)
  int64_t active_count = 0;
};

struct TttLayout {
  std::vector<TttSequence> sequences;
  std::vector<int32_t> row;  // [active] packed row of each, ascending inside a sequence
  int64_t total = 0;
};

struct AttentionShape {
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
};

// q: [active, heads * head_dim]. keys[0], values[0]: [total, kv_heads * head_dim]; keys[j],
// values[j], j >= 1: [active, kv_heads * head_dim]. Result: as q.
Var ttt_attention(
    Tape& tape,
    Var q,
    const std::vector<Var>& keys,
    const std::vector<Var>& values,
    std::shared_ptr<const TttLayout> layout,
    const AttentionShape& shape
);

}  // namespace hone
