#include "speculator/data/rows.h"

#include <cstdlib>
#include <utility>

#include "core/base/error.h"
#include "core/base/hash.h"

namespace hone {
namespace {

// [0, 1), uniform over conversations.
double split_point(const std::string& conversation) {
  const std::string digest = sha256("held-out " + conversation);
  return static_cast<double>(std::stoull(digest.substr(0, 13), nullptr, 16)) / 0x1p52;
}

}  // namespace

TrainingRow TrainingRow::make(
    std::string conversation, std::vector<int32_t> prompt, const std::vector<int32_t>& answer
) {
  TrainingRow row;
  row.conversation = std::move(conversation);
  row.ids = std::move(prompt);
  row.mask.assign(row.ids.size(), 0);
  row.ids.insert(row.ids.end(), answer.begin(), answer.end());
  row.mask.resize(row.ids.size(), 1);
  return row;
}

bool TrainingRow::supervised(int64_t t, int64_t step) const {
  if (t < 0 || t + 2 + step >= length()) return false;
  for (int64_t i = t + 1; i <= t + 2 + step; ++i)
    if (mask[static_cast<size_t>(i)] == 0) return false;
  return true;
}

std::vector<int64_t> TrainingRow::starts() const {
  std::vector<int64_t> result;
  for (int64_t t = 0; t + 2 < length(); ++t)
    if (supervised(t, 0)) result.push_back(t);
  return result;
}

std::vector<int64_t> TrainingRow::targets() const {
  std::vector<int64_t> result = starts();
  for (int64_t& t : result) ++t;
  return result;
}

RowSplit split_rows(std::vector<TrainingRow> rows, double fraction) {
  require(fraction >= 0 && fraction < 1, "held-out fraction {} is not in [0, 1)", fraction);
  RowSplit split;
  for (TrainingRow& row : rows) {
    if (row.starts().empty()) continue;
    const bool held_out = split_point(row.conversation) < fraction;
    (held_out ? split.held_out : split.train).push_back(std::move(row));
  }
  return split;
}

}  // namespace hone
