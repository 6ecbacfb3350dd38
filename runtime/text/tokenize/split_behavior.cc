#include "runtime/text/tokenize/split_behavior.h"

#include <algorithm>

#include "core/base/error.h"

namespace hone {
namespace {

// Joins each match with the part before it, unless that part is itself a match.
void merge_with_previous(std::vector<PieceRun>& runs) {
  size_t kept = 0;
  bool previous_match = false;
  for (size_t i = 0; i < runs.size(); ++i) {
    const PieceRun run = runs[i];
    if (run.match && !previous_match && kept > 0) {
      runs[kept - 1].end = run.end;
    } else {
      runs[kept++] = run;
    }
    previous_match = run.match;
  }
  runs.resize(kept);
}

// The mirror image.
void merge_with_next(std::vector<PieceRun>& runs) {
  size_t kept = runs.size();
  bool next_match = false;
  for (size_t i = runs.size(); i-- > 0;) {
    const PieceRun run = runs[i];
    if (run.match && !next_match && kept < runs.size()) {
      runs[kept].begin = run.begin;
    } else {
      runs[--kept] = run;
    }
    next_match = run.match;
  }
  runs.erase(runs.begin(), runs.begin() + static_cast<std::ptrdiff_t>(kept));
}

// Joins neighbours of the same kind.
void merge_equal(std::vector<PieceRun>& runs) {
  size_t kept = 0;
  bool previous_match = false;
  for (size_t i = 0; i < runs.size(); ++i) {
    const PieceRun run = runs[i];
    if (run.match == previous_match && kept > 0) {
      runs[kept - 1].end = run.end;
    } else {
      runs[kept++] = run;
    }
    previous_match = run.match;
  }
  runs.resize(kept);
}

}  // namespace

SplitBehavior split_behavior(const std::string& name, const std::string& where) {
  if (name == "Removed") return SplitBehavior::kRemoved;
  if (name == "Isolated") return SplitBehavior::kIsolated;
  if (name == "MergedWithPrevious") return SplitBehavior::kMergedWithPrevious;
  if (name == "MergedWithNext") return SplitBehavior::kMergedWithNext;
  require_data(
      name == "Contiguous",
      "{}: behavior \"{}\" is not known (Removed, Isolated, MergedWithPrevious, MergedWithNext, "
      "Contiguous)",
      where,
      name
  );
  return SplitBehavior::kContiguous;
}

void split_runs(PieceList& list, const Piece& piece, SplitBehavior behavior) {
  auto& runs = list.runs;
  if (behavior == SplitBehavior::kMergedWithPrevious) merge_with_previous(runs);
  if (behavior == SplitBehavior::kMergedWithNext) merge_with_next(runs);
  if (behavior == SplitBehavior::kContiguous) merge_equal(runs);
  for (const PieceRun& run : runs) {
    if (run.begin == run.end || (run.match && behavior == SplitBehavior::kRemoved)) continue;
    list.next.push_back(piece.slice(run.begin, run.end));
  }
}

}  // namespace hone
