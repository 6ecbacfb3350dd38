#include "calibrate/forward.h"

#include <memory>

#include "core/base/error.h"

namespace hone {

std::vector<SequenceBatch> batch_sequences(
    std::span<const std::vector<int32_t>> sequences, int64_t batch_tokens
) {
  std::vector<SequenceBatch> batches;
  for (size_t i = 0; i < sequences.size(); ++i) {
    const auto length = static_cast<int64_t>(sequences[i].size());
    if (batches.empty() || batches.back().tokens + length > batch_tokens) {
      batches.push_back({i, 0, 0});
    }
    ++batches.back().count;
    batches.back().tokens += length;
  }
  return batches;
}

void forward_sequences(
    Model& model,
    std::span<const std::vector<int32_t>> sequences,
    LogitRows logits,
    ForwardOutput& output,
    TapSink* taps,
    const WeightOverrides* overrides
) {
  int64_t pages = 0;
  for (const auto& sequence : sequences) {
    pages += (static_cast<int64_t>(sequence.size()) + kPageTokens - 1) / kPageTokens;
  }
  KvPool pool(model.kv_layout(), pages);
  std::vector<KvSequence> caches;
  caches.reserve(sequences.size());
  std::vector<SequenceInput> inputs;
  for (const auto& sequence : sequences) {
    KvSequence& cache = caches.emplace_back(pool);
    check(
        cache.reserve(static_cast<int64_t>(sequence.size())), "the page count above is too small"
    );
    inputs.push_back({.tokens = sequence, .kv = &cache, .parents = {}, .logits = logits});
  }
  model.forward(inputs, output, taps, overrides);
}

}  // namespace hone
