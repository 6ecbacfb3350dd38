#include "speculator/train/batch.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/base/error.h"
#include "core/base/rng.h"
#include "core/base/threads.h"
#include "core/format/bf16.h"

namespace hone {
namespace {

// Appends the steps of one row's starts; `first_target` is where its targets begin in the batch.
void add_steps(
    const TrainingRow& row,
    const std::vector<int64_t>& starts,
    const std::vector<int32_t>& argmax,
    int64_t first_target,
    const std::vector<int32_t>& vocabulary,
    TttBatch& batch
) {
  for (size_t k = 0; k < batch.steps.size(); ++k) {
    TttBatch::Step& step = batch.steps[k];
    const auto shift = static_cast<int64_t>(k);
    for (size_t a = 0; a < starts.size(); ++a) {
      const int64_t t = starts[a];
      const bool inside = t + 1 + shift < row.length();
      step.tokens.push_back(inside ? row.ids[static_cast<size_t>(t + 1 + shift)] : 0);
      if (!row.supervised(t, shift)) {
        step.truth.push_back(-1);
        step.teacher.push_back(0);
        step.weights.push_back(0);
        continue;
      }
      // Position t + 1 + k is the target of the start t + k, which is `shift` places further on
      // because the run of the assistant's tokens is unbroken.
      const size_t target = a + k;
      step.truth.push_back(row.ids[static_cast<size_t>(t + 2 + shift)]);
      step.teacher.push_back(static_cast<int32_t>(first_target + static_cast<int64_t>(target)));
      step.weights.push_back(
          std::binary_search(vocabulary.begin(), vocabulary.end(), argmax[target]) ? 1.0F : 0.0F
      );
    }
  }
}

// Widens the kept taps of all rows.
void widen_taps(
    const std::vector<std::shared_ptr<const RowFeatures>>& features,
    const std::vector<int64_t>& offsets,
    std::vector<float>& taps
) {
  ThreadPool::global()
      .parallel_for(static_cast<int64_t>(features.size()), 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const auto at = static_cast<size_t>(i);
          const std::vector<uint16_t>& codes = features[at]->taps;
          std::transform(codes.begin(), codes.end(), taps.begin() + offsets[at], bf16_decode);
        }
      });
}

}  // namespace

std::vector<std::vector<size_t>> pack_rows(
    const std::vector<TrainingRow>& rows, const PackOptions& options
) {
  std::vector<size_t> order(rows.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (options.shuffle) {
    Rng rng(static_cast<uint64_t>(options.seed), static_cast<uint32_t>(options.epoch));
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
  }
  std::vector<std::vector<size_t>> groups;
  int64_t filled = 0;
  for (const size_t index : order) {
    if (groups.empty() || filled >= options.tokens) {
      groups.emplace_back();
      filled = 0;
    }
    groups.back().push_back(index);
    filled += static_cast<int64_t>(rows[index].starts().size());
  }
  return groups;
}

TttBatch make_batch(
    const std::vector<TrainingRow>& rows,
    const std::vector<size_t>& group,
    FeatureStore& features,
    const std::vector<int32_t>& draft_vocabulary,
    int64_t steps
) {
  const std::vector<std::shared_ptr<const RowFeatures>> kept = features.get(group);
  TttBatch batch;
  batch.rows = group;
  batch.steps.resize(static_cast<size_t>(steps));
  auto layout = std::make_shared<TttLayout>();
  std::vector<int64_t> offsets;
  int64_t floats = 0;
  for (size_t i = 0; i < group.size(); ++i) {
    const TrainingRow& row = rows[group[i]];
    const std::vector<int64_t> starts = row.starts();
    const int64_t length = starts.back() + 1;
    layout->sequences.push_back(
        {layout->total,
         length,
         static_cast<int64_t>(layout->row.size()),
         static_cast<int64_t>(starts.size())}
    );
    for (const int64_t t : starts) layout->row.push_back(static_cast<int32_t>(layout->total + t));
    for (int64_t t = 0; t < length; ++t) {
      batch.positions.push_back(t);
      batch.tokens.push_back(row.ids[static_cast<size_t>(t + 1)]);
    }
    const auto first_target = static_cast<int64_t>(batch.argmax.size());
    add_steps(row, starts, kept[i]->argmax, first_target, draft_vocabulary, batch);
    batch.finals.insert(batch.finals.end(), kept[i]->finals.begin(), kept[i]->finals.end());
    batch.argmax.insert(batch.argmax.end(), kept[i]->argmax.begin(), kept[i]->argmax.end());
    layout->total += length;
    offsets.push_back(floats);
    floats += static_cast<int64_t>(kept[i]->taps.size());
  }
  batch.taps.resize(static_cast<size_t>(floats));
  widen_taps(kept, offsets, batch.taps);
  batch.layout = std::move(layout);
  return batch;
}

}  // namespace hone
