// Rows of an embedding table, and the gradient of the lookup.
//
// y[t, :] = table[ids[t], :]
#pragma once

#include <cstdint>
#include <span>

#include "core/tensor/tensor.h"

namespace hone {

// table: [vocab, dim] F32, BF16 or F16 (exact widening); y: [ids.size(), dim] f32.
// UsageError naming the id when it lies outside [0, vocab), or for another dtype.
void embedding(const TensorView& table, std::span<const int32_t> ids, std::span<float> y);

// dtable[ids[t], :] += dy[t, :], t ascending, so repeated ids add in row order for every thread
// count. dtable: [vocab, dim] f32, accumulated into.
void embedding_backward(
    std::span<const int32_t> ids, std::span<const float> dy, int64_t dim, std::span<float> dtable
);

}  // namespace hone
