// Verification of drafts by the target: lossless, whatever drafted them.
//
// Match-to-target sampling: at the last accepted token the target's own token is drawn with the
// draw of its position (runtime/sample); if a child of the node carries it, the walk descends and
// repeats, otherwise that token ends the step. What comes out is token for token what plain
// decoding with the same seed gives; for a deterministic draft the acceptance equals that of
// rejection sampling (sum of the target's probability over the children).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/sample/sampler.h"
#include "runtime/spec/proposer.h"

namespace hone {

// A draft as the target's forward call takes it: row 0 is the last accepted token, row 1 + i is
// node i.
struct DraftRows {
  std::vector<int32_t> tokens;
  std::vector<int32_t> parents;
};
DraftRows draft_rows(int32_t last_token, const Draft& draft);

// Throws InternalError naming the proposer when a draft has more than `max_nodes` nodes, parents
// that do not come first, or tokens outside the vocabulary.
void check_draft(const Draft& draft, int max_nodes, int64_t vocab, std::string_view proposer);

// Depth of each node; 0: child of the last accepted token.
std::vector<int> draft_depths(const Draft& draft);

// How the tokens of one sequence are drawn.
struct DrawKey {
  SamplingParams params;
  uint32_t choice = 0;
  uint64_t position = 0;  // absolute position of the first token drawn
};

struct Verification {
  std::vector<int64_t> path;    // accepted nodes, from the first to the last
  std::vector<int32_t> tokens;  // their tokens, then the target's token that follows
};

// logits: [1 + draft.size(), vocab] f32, row-major, rows as in DraftRows. Throws DataError for
// broken logits (runtime/sample/sampler.h) of a row that the walk meets.
Verification verify(
    const Draft& draft, std::span<const float> logits, int64_t vocab, const DrawKey& key
);

}  // namespace hone
