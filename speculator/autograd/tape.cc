#include "speculator/autograd/tape.h"

#include <algorithm>

#include "core/base/error.h"
#include "runtime/op/add.h"

namespace hone {

Var Tape::constant(const float* data, int64_t rows, int64_t cols) {
  Node added;
  added.rows = rows;
  added.cols = cols;
  added.value = const_cast<float*>(data);  // never written: constants have no sink and no owner
  nodes_.push_back(std::move(added));
  return {static_cast<int32_t>(nodes_.size()) - 1};
}

Var Tape::parameter(const float* data, float* grad, int64_t rows, int64_t cols) {
  const Var added = constant(data, rows, cols);
  node(added).grad = grad;
  node(added).needs_grad = true;
  node(added).parameter = true;
  return added;
}

Var Tape::make(int64_t rows, int64_t cols, const std::vector<Var>& inputs) {
  Node added;
  added.rows = rows;
  added.cols = cols;
  added.owned = true;
  added.needs_grad = recording_ && std::any_of(inputs.begin(), inputs.end(), [&](Var input) {
                       return needs_grad(input);
                     });
  added.value = arena_.take(rows * cols);
  nodes_.push_back(std::move(added));
  return {static_cast<int32_t>(nodes_.size()) - 1};
}

Var Tape::make(int64_t rows, int64_t cols, std::initializer_list<Var> inputs) {
  return make(rows, cols, std::vector<Var>(inputs));
}

void Tape::set_backward(Var output, std::function<void()> function) {
  if (node(output).needs_grad) node(output).backward = std::move(function);
}

GradSink Tape::sink(Var input) {
  Node& target = node(input);
  if (!target.needs_grad) return {};
  if (target.grad != nullptr) return {target.grad, true};
  target.grad = arena_.take(target.rows * target.cols);
  return {target.grad, false};
}

GradSink Tape::sink_in_place(Var input) {
  Node& target = node(input);
  if (!target.needs_grad) return {};
  check(target.grad == nullptr && target.owned, "tape: in-place gradient of a shared value");
  target.grad = target.value;
  return {target.grad, false};
}

void Tape::send(Var owner, Var input, const std::function<void(std::span<float>)>& kernel) {
  const GradSink to = sink(input);
  if (to.data == nullptr) return;
  const auto n = static_cast<size_t>(size(input));
  if (!to.accumulate) {
    kernel({to.data, n});
    return;
  }
  const std::span<float> part(scratch(owner, size(input)), n);
  kernel(part);
  hone::add(part, {to.data, n});
}

float* Tape::scratch(Var owner, int64_t count) {
  float* memory = arena_.take(count);
  node(owner).scratch.push_back(memory);
  return memory;
}

void Tape::release(Node& done) {
  if (done.parameter) return;
  if (done.grad != nullptr && done.grad != done.value) arena_.give_back(done.grad);
  done.grad = nullptr;
  if (done.owned) {
    arena_.give_back(done.value);
    done.value = nullptr;
    done.owned = false;
  }
  for (float* memory : done.scratch) arena_.give_back(memory);
  done.scratch.clear();
  done.backward = nullptr;
}

void Tape::backward(Var loss) {
  check(rows(loss) == 1 && cols(loss) == 1, "tape: the loss is no scalar");
  check(needs_grad(loss), "tape: the loss depends on no parameter");
  const GradSink start = sink(loss);
  start.data[0] = 1.0F;
  for (size_t i = static_cast<size_t>(loss.id) + 1; i-- > 0;) {
    Node& current = nodes_[i];
    // What no gradient reached adds nothing. Its value may still be an input of earlier nodes'
    // backward only if it is a leaf, so it can be released too.
    if (current.backward && current.grad != nullptr) current.backward();
    if (i != static_cast<size_t>(loss.id)) release(nodes_[i]);
  }
}

void Tape::reset() {
  nodes_.clear();
  arena_.reclaim();
}

}  // namespace hone
