// Runs the sequences of a corpus through a model, teacher-forced.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "runtime/model/model.h"

namespace hone {

// A run of whole sequences, at most `batch_tokens` tokens (at least one sequence).
struct SequenceBatch {
  size_t first = 0;
  size_t count = 0;
  int64_t tokens = 0;
};
std::vector<SequenceBatch> batch_sequences(
    std::span<const std::vector<int32_t>> sequences, int64_t batch_tokens
);

// One forward pass over sequences from position 0, with logits of every token or none.
// output.first_row follows the sequences' order.
void forward_sequences(
    Model& model,
    std::span<const std::vector<int32_t>> sequences,
    LogitRows logits,
    ForwardOutput& output,
    TapSink* taps = nullptr,
    const WeightOverrides* overrides = nullptr
);

}  // namespace hone
