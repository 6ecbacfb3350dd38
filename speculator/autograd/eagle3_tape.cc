#include "speculator/autograd/eagle3_tape.h"

#include <utility>

#include "core/base/error.h"
#include "speculator/autograd/ops.h"

namespace hone {

Eagle3TapeOps::Eagle3TapeOps(
    Tape& tape,
    const Eagle3Config& config,
    std::shared_ptr<const TttLayout> layout,
    const std::vector<int64_t>& positions
)
    : tape_(tape),
      config_(config),
      layout_(std::move(layout)),
      inverse_frequencies_(config.rope.inverse_frequencies(config.head_dim)) {
  all_ = std::make_shared<const RopeRows>(rope_rows(inverse_frequencies_, positions));
  for (const int32_t row : layout_->row)
    active_positions_.push_back(positions[static_cast<size_t>(row)]);
}

Eagle3TapeOps::Pass Eagle3TapeOps::next_pass() {
  check(std::cmp_equal(keys_.size(), steps_), "eagle3: a step before step {} did not run", steps_);
  active_ = active_angles(steps_);
  return {steps_++};
}

std::shared_ptr<const RopeRows> Eagle3TapeOps::active_angles(int64_t step) const {
  std::vector<int64_t> positions = active_positions_;
  for (int64_t& position : positions) position += step;
  return std::make_shared<const RopeRows>(rope_rows(inverse_frequencies_, positions));
}

Var Eagle3TapeOps::linear(Var x, Var w) {
  return hone::linear(tape_, x, w);
}

Var Eagle3TapeOps::rms_norm(Var x, Var w) {
  return hone::rms_norm(tape_, x, w, static_cast<float>(config_.rms_eps));
}

Var Eagle3TapeOps::add(Var a, Var b) {
  return hone::add(tape_, a, b);
}

Var Eagle3TapeOps::silu_mul(Var gate, Var up) {
  return hone::silu_mul(tape_, gate, up);
}

Var Eagle3TapeOps::concat(Var a, Var b) {
  return concat_columns(tape_, a, b);
}

Var Eagle3TapeOps::outputs(Pass& pass, Var x) {
  return pass.step == 0 ? gather_rows(tape_, x, layout_->row) : x;
}

void Eagle3TapeOps::store(Pass& pass, Var keys, Var values) {
  keys_.push_back(hone::rope(tape_, keys, pass.step == 0 ? all_ : active_, config_.head_dim));
  values_.push_back(values);
}

Var Eagle3TapeOps::attend(Pass&, Var queries) {
  const Var rotated = hone::rope(tape_, queries, active_, config_.head_dim);
  return ttt_attention(
      tape_, rotated, keys_, values_, layout_, {config_.heads, config_.kv_heads, config_.head_dim}
  );
}

}  // namespace hone
