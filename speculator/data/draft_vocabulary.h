// The smaller vocabulary that a draft head predicts.
#pragma once

#include <cstdint>
#include <vector>

#include "speculator/data/rows.h"

namespace hone {

// The `size` token ids that the assistant says most often in `rows`, ascending. Ties go to the
// lower id; when fewer are said at all, the most frequent of the remaining text and then the lowest
// ids fill up. size == vocab gives all ids. UsageError unless 0 < size <= vocab.
std::vector<int32_t> choose_draft_vocabulary(
    const std::vector<TrainingRow>& rows, int64_t vocab, int64_t size
);

// Share of the assistant's tokens that the vocabulary holds.
double vocabulary_coverage(
    const std::vector<TrainingRow>& rows, const std::vector<int32_t>& vocabulary
);

}  // namespace hone
