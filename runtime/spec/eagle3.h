// EAGLE-3 as a proposer: drafts a chain of tokens from the target's tapped hidden states.
#pragma once

#include <filesystem>
#include <memory>

#include "runtime/model/draft/eagle3_checkpoint.h"
#include "runtime/spec/proposer.h"

namespace hone {

struct Eagle3Options {
  // Serve a head that was trained on other weights of the same sizes (DraftContract).
  bool allow_other_target = false;
  int64_t max_pages = 1 << 16;  // of the head's own cache, kPageTokens tokens each
};

// How the head fits, for the log: see TargetFit.
struct Eagle3Loaded {
  std::unique_ptr<Proposer> proposer;
  TargetFit fit = TargetFit::kExact;
  Eagle3Config config;
};

// Reads and checks the head in `folder`. Throws DataError when it does not fit `target`
// (contract.h); a head without a contract needs allow_other_target. A warning is logged unless the
// fit is exact. Nothing of `target` is kept.
Eagle3Loaded load_eagle3_proposer(
    const std::filesystem::path& folder, const Model& target, const Eagle3Options& options = {}
);

// A head that is already in memory; `embeddings` is the target's table [vocab, hidden] f32.
//
// Drafts are greedy over the draft vocabulary and carry no probability. Every proposal first takes
// in what was observed since the last one (real features), then drafts on its own features; the
// cache entries of drafted tokens are dropped again. A sequence whose cache cannot grow, or that
// reached the head's positions, gets an empty draft: output never depends on drafts.
std::unique_ptr<Proposer> make_eagle3_proposer(
    Eagle3Head head, Tensor embeddings, int64_t max_pages = 1 << 16
);

}  // namespace hone
