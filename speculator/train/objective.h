// Training-time test: the unrolled forward pass of a batch and its loss.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/model/draft/eagle3_config.h"
#include "speculator/autograd/tape.h"
#include "speculator/train/batch.h"
#include "speculator/train/head_weights.h"

namespace hone {

// What the head learns from, borrowed: all stay alive and unchanged.
struct Teacher {
  const Tensor* embeddings = nullptr;     // [vocab, hidden] f32, frozen
  const Tensor* draft_lm_head = nullptr;  // [draft_vocab, hidden] f32, the target's rows
  const std::vector<int32_t>* draft_to_target = nullptr;  // [draft_vocab] ascending
};

struct ObjectiveOptions {
  double decay = 0.8;  // weight of step k is decay^k
  double divisor = 1;  // the loss is a sum over supervised positions divided by this
};

// What one step of a batch came to.
struct StepResult {
  double loss = 0;               // mean cross-entropy over supervised positions
  double supervised = 0;         // their number
  std::vector<int32_t> drafted;  // [active] the target's id of the head's most probable token
};

struct ObjectiveResult {
  Var loss;  // sum over steps of decay^k * sum of cross-entropies / divisor
  std::vector<StepResult> steps;
};

// L = 1/divisor * sum_k decay^k sum_t w_kt * -(sum_v q_v log softmax(logits_kt)_v), where q is the
// target's softmax restricted to the draft vocabulary and w the mask. Step k is fed the true token
// and the head's own output of step k - 1 (EAGLE-3's training-time test).
ObjectiveResult eagle3_objective(
    Tape& tape,
    const Eagle3Config& config,
    HeadWeights& weights,
    const TttBatch& batch,
    const Teacher& teacher,
    const ObjectiveOptions& options
);

}  // namespace hone
