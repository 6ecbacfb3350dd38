// What becomes of the runs that a pattern matched: the "behavior" of Split and Punctuation.
#pragma once

#include <string>

#include "runtime/text/tokenize/pre_tokenizer.h"

namespace hone {

enum class SplitBehavior : uint8_t {
  kRemoved,
  kIsolated,
  kMergedWithPrevious,
  kMergedWithNext,
  kContiguous,
};

// Throws DataError on an unknown name.
SplitBehavior split_behavior(const std::string& name, const std::string& where);

// Appends the parts of `piece` to list.next. list.runs cover the piece without gaps.
void split_runs(PieceList& list, const Piece& piece, SplitBehavior behavior);

}  // namespace hone
