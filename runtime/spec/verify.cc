#include "runtime/spec/verify.h"

#include <algorithm>

#include "core/base/error.h"

namespace hone {

DraftRows draft_rows(int32_t last_token, const Draft& draft) {
  DraftRows rows{.tokens = {last_token}, .parents = {-1}};
  for (const DraftNode& node : draft) {
    rows.tokens.push_back(node.token);
    rows.parents.push_back(node.parent + 1);
  }
  return rows;
}

void check_draft(const Draft& draft, int max_nodes, int64_t vocab, std::string_view proposer) {
  check(
      static_cast<int64_t>(draft.size()) <= max_nodes,
      "proposer {} drafted {} nodes, at most {} were asked for",
      proposer,
      draft.size(),
      max_nodes
  );
  for (size_t i = 0; i < draft.size(); ++i) {
    check(
        draft[i].parent >= -1 && draft[i].parent < static_cast<int32_t>(i),
        "proposer {}: node {} has parent {}, expected an earlier node or -1",
        proposer,
        i,
        draft[i].parent
    );
    check(
        draft[i].token >= 0 && draft[i].token < vocab,
        "proposer {}: node {} has token {} outside the vocabulary of {}",
        proposer,
        i,
        draft[i].token,
        vocab
    );
  }
}

std::vector<int> draft_depths(const Draft& draft) {
  std::vector<int> depths(draft.size(), 0);
  for (size_t i = 0; i < draft.size(); ++i) {
    if (draft[i].parent >= 0) depths[i] = depths[static_cast<size_t>(draft[i].parent)] + 1;
  }
  return depths;
}

Verification verify(
    const Draft& draft, std::span<const float> logits, int64_t vocab, const DrawKey& key
) {
  check(
      static_cast<int64_t>(logits.size()) == static_cast<int64_t>(draft.size() + 1) * vocab,
      "verification of {} nodes got {} logits",
      draft.size(),
      logits.size()
  );
  Verification result;
  int32_t at = -1;
  for (;;) {
    const auto row = static_cast<size_t>(at + 1);
    const int32_t token = sample(
        logits.subspan(row * static_cast<size_t>(vocab), static_cast<size_t>(vocab)),
        key.params,
        key.choice,
        key.position + result.tokens.size()
    );
    result.tokens.push_back(token);
    const auto child = std::ranges::find_if(draft, [&](const DraftNode& node) {
      return node.parent == at && node.token == token;
    });
    if (child == draft.end()) return result;
    at = static_cast<int32_t>(child - draft.begin());
    result.path.push_back(at);
  }
}

}  // namespace hone
