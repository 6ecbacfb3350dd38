// Proposers draft tokens; verification knows nothing else of them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/model/model.h"
#include "runtime/model/tap.h"

namespace hone {

// A draft: nodes in topological order (parents first). A chain has parent[i] == i - 1.
struct DraftNode {
  int32_t token = 0;
  int32_t parent = -1;        // -1: child of the last accepted token
  float probability = -1.0F;  // draft probability, negative when the proposer has none
};
using Draft = std::vector<DraftNode>;

// Per-sequence state of a proposer.
class ProposerState {
 public:
  virtual ~ProposerState() = default;
};

// Thread rule: as Model. Features come through `taps()`, which the engine passes to every forward
// of the target when it is not null.
class Proposer {
 public:
  virtual ~Proposer() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  // Starts a sequence.
  virtual std::unique_ptr<ProposerState> begin() = 0;
  // Which taps of the target it reads; null when it needs none. The sink sees the rows of one
  // forward call; observe() then says which rows belong to whom.
  virtual TapSink* taps() = 0;
  // The target has processed `tokens` of this sequence (prompt chunk, or the accepted path of a
  // verification), whose tap rows are `rows` of the last forward call; `next` is the token that
  // follows them (known once sampled; -1 inside a prompt whose next token is in the next chunk,
  // then `next` equals that token).
  virtual void observe(
      ProposerState& state,
      std::span<const int32_t> tokens,
      std::span<const int64_t> rows,
      int32_t next
  ) = 0;
  // Drafts for several sequences at once, at most `max_tokens[i]` nodes for states[i].
  virtual std::vector<Draft> propose(
      std::span<ProposerState* const> states, std::span<const int> max_tokens
  ) = 0;
};

}  // namespace hone
