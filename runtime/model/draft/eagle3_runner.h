// Runs EAGLE-3 heads: eagle3_forward.h over the runtime's own operations and a paged cache.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/cache/kv_cache.h"
#include "runtime/model/draft/eagle3_checkpoint.h"
#include "runtime/op/matmul.h"

namespace hone {

// One sequence's rows of a pass. Row i has rotary position kv->length() + i; its keys and values
// are stored and counted.
struct Eagle3Rows {
  KvSequence* kv = nullptr;  // layout of kv_layout(), with room for `count` rows reserved
  int64_t count = 0;
  int64_t outputs = 0;  // the last `outputs` rows go on; the others only leave keys and values
};

// Immutable weights; one thread at a time. Results do not depend on the batch or on threads
// (runtime/op/matmul.h).
class Eagle3Runner {
 public:
  // target_embeddings: [vocab, hidden] f32, used unless the head brings its own.
  Eagle3Runner(Eagle3Head head, Tensor target_embeddings);

  [[nodiscard]] const Eagle3Config& config() const { return head_.config; }
  [[nodiscard]] const Eagle3Head& head() const { return head_; }
  [[nodiscard]] KvLayout kv_layout() const;

  // taps: [rows, taps * target_hidden] f32 -> features [rows, hidden].
  [[nodiscard]] Tensor fuse(const Tensor& taps);
  // tokens, features: the rows of all sequences one after the other; features [rows, hidden].
  // Returns [sum of outputs, hidden]: the outputs' features for the next step.
  [[nodiscard]] Tensor step(
      std::span<const Eagle3Rows> sequences, std::span<const int32_t> tokens, const Tensor& features
  );
  // Over the draft vocabulary: [rows, draft_vocab] f32.
  [[nodiscard]] Tensor logits(const Tensor& outputs);
  // The target's id of the most probable draft token of each row.
  [[nodiscard]] std::vector<int32_t> best_tokens(const Tensor& outputs);

 private:
  friend class Eagle3RunnerOps;
  // A matrix or a norm's vector.
  struct Weight {
    LinearWeight matrix;
    std::vector<float> vector;
  };
  Eagle3Head head_;
  Tensor embeddings_;
  Eagle3Parameters<Weight> weights_;
  std::vector<double> inverse_frequencies_;
};

}  // namespace hone
