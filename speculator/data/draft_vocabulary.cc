#include "speculator/data/draft_vocabulary.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "core/base/error.h"

namespace hone {

std::vector<int32_t> choose_draft_vocabulary(
    const std::vector<TrainingRow>& rows, int64_t vocab, int64_t size
) {
  require(
      size > 0 && size <= vocab, "draft vocabulary of {}: not in [1, {}], the target's", size, vocab
  );
  std::vector<int64_t> said(static_cast<size_t>(vocab));
  std::vector<int64_t> seen(static_cast<size_t>(vocab));
  for (const TrainingRow& row : rows)
    for (size_t i = 0; i < row.ids.size(); ++i) {
      const auto id = static_cast<size_t>(row.ids[i]);
      ++seen[id];
      if (row.mask[i] != 0) ++said[id];
    }
  std::vector<int32_t> ids(static_cast<size_t>(vocab));
  std::iota(ids.begin(), ids.end(), 0);
  const auto rank = [&](int32_t id) {
    const auto i = static_cast<size_t>(id);
    return std::tuple(-said[i], -seen[i], id);
  };
  std::sort(ids.begin(), ids.end(), [&](int32_t a, int32_t b) { return rank(a) < rank(b); });
  ids.resize(static_cast<size_t>(size));
  std::sort(ids.begin(), ids.end());
  return ids;
}

double vocabulary_coverage(
    const std::vector<TrainingRow>& rows, const std::vector<int32_t>& vocabulary
) {
  int64_t total = 0;
  int64_t covered = 0;
  for (const TrainingRow& row : rows)
    for (size_t i = 0; i < row.ids.size(); ++i) {
      if (row.mask[i] == 0) continue;
      ++total;
      if (std::binary_search(vocabulary.begin(), vocabulary.end(), row.ids[i])) ++covered;
    }
  return total == 0 ? 1.0 : static_cast<double>(covered) / static_cast<double>(total);
}

}  // namespace hone
