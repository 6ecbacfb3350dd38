// The operations of eagle3_forward.h on the training tape, and the layout of training-time test.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/model/draft/eagle3_forward.h"
#include "speculator/autograd/tape.h"
#include "speculator/autograd/transformer_ops.h"
#include "speculator/autograd/ttt_attention.h"

namespace hone {

// Passes of one unrolled batch. Step 0 has all packed rows, of which the active ones go on; later
// steps have the active rows alone, one position further each.
class Eagle3TapeOps {
 public:
  using Value = Var;
  using Weight = Var;
  struct Pass {
    int64_t step = 0;
  };

  // positions: [layout->total] of each packed row in its sequence.
  Eagle3TapeOps(
      Tape& tape,
      const Eagle3Config& config,
      std::shared_ptr<const TttLayout> layout,
      const std::vector<int64_t>& positions
  );

  // The pass of step 0, 1, ...: in order, each after the one before has run.
  Pass next_pass();

  Var linear(Var x, Var w);
  Var rms_norm(Var x, Var w);
  Var add(Var a, Var b);
  Var silu_mul(Var gate, Var up);
  Var concat(Var a, Var b);
  Var outputs(Pass& pass, Var x);
  void store(Pass& pass, Var keys, Var values);
  Var attend(Pass& pass, Var queries);

 private:
  [[nodiscard]] std::shared_ptr<const RopeRows> active_angles(int64_t step) const;
  Tape& tape_;
  const Eagle3Config& config_;
  std::shared_ptr<const TttLayout> layout_;
  std::vector<double> inverse_frequencies_;
  std::shared_ptr<const RopeRows> all_;
  std::vector<int64_t> active_positions_;
  std::shared_ptr<const RopeRows> active_;  // of the current step
  std::vector<Var> keys_;
  std::vector<Var> values_;
  int64_t steps_ = 0;
};

static_assert(Eagle3Ops<Eagle3TapeOps>);

}  // namespace hone
