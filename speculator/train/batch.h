// Packing of rows into batches, and what one batch needs for training-time test.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "speculator/autograd/ttt_attention.h"
#include "speculator/data/features.h"
#include "speculator/data/rows.h"

namespace hone {

// Groups of row indices; every row once. The order is a shuffle keyed by (seed, epoch), or the
// given one when `shuffle` is false. A group is closed when it holds `tokens` starts or more.
struct PackOptions {
  int64_t tokens = 1024;  // positions that a chain starts from
  int64_t seed = 0;
  int64_t epoch = 0;
  bool shuffle = true;
};
std::vector<std::vector<size_t>> pack_rows(
    const std::vector<TrainingRow>& rows, const PackOptions& options
);

// One packed batch. Row t of a sequence pairs the taps of position t with token t + 1; rows after
// the last start are left out. Active rows are the starts.
struct TttBatch {
  std::shared_ptr<const TttLayout> layout;
  std::vector<int64_t> positions;  // [total]
  std::vector<float> taps;         // [total, taps * hidden]
  std::vector<int32_t> tokens;     // [total] token t + 1
  // Step k of active row a at position t.
  struct Step {
    std::vector<int32_t> tokens;   // [active] fed: token t + 1 + k (0 behind the end; weight 0)
    std::vector<int32_t> truth;    // [active] token t + 2 + k that the target said, -1: none
    std::vector<int32_t> teacher;  // [active] row of `finals` for position t + 1 + k
    std::vector<float> weights;    // [active] 1: supervised
  };
  std::vector<Step> steps;
  std::vector<float> finals;    // [targets, hidden] inputs of the target's lm_head
  std::vector<int32_t> argmax;  // [targets] the target's most probable token
  std::vector<size_t> rows;     // indices of the packed rows

  [[nodiscard]] int64_t active() const { return static_cast<int64_t>(layout->row.size()); }
};

// A step is supervised where TrainingRow::supervised() says so and the target's most probable token
// is in the draft vocabulary (ascending ids).
TttBatch make_batch(
    const std::vector<TrainingRow>& rows,
    const std::vector<size_t>& group,
    FeatureStore& features,
    const std::vector<int32_t>& draft_vocabulary,
    int64_t steps
);

}  // namespace hone
