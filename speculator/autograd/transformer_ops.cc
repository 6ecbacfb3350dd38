#include "speculator/autograd/transformer_ops.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/base/error.h"
#include "runtime/op/add.h"
#include "runtime/op/rms_norm.h"
#include "runtime/op/silu_mul.h"

namespace hone {

Var rms_norm(Tape& tape, Var x, Var w, float eps) {
  check(
      tape.rows(w) == 1 && tape.cols(w) == tape.cols(x),
      "rms_norm: weight [{}, {}] for {} columns",
      tape.rows(w),
      tape.cols(w),
      tape.cols(x)
  );
  const Var y = tape.make(tape.rows(x), tape.cols(x), {x, w});
  rms_norm(tape.values(x), tape.values(w), eps, tape.mutable_values(y));
  tape.set_backward(y, [&tape, x, w, y, eps] {
    RmsNormGradient gradient;
    const GradSink dw = tape.sink(w);
    const auto width = static_cast<size_t>(tape.cols(w));
    std::span<float> dweight;
    if (dw.data != nullptr) {
      dweight = {dw.accumulate ? tape.scratch(y, tape.cols(w)) : dw.data, width};
      gradient.dweight = dweight;
    }
    if (!tape.needs_grad(x)) {
      rms_norm_backward(tape.values(x), tape.values(w), eps, tape.grads(y), gradient);
    } else {
      tape.send(y, x, [&](std::span<float> dx) {
        gradient.dx = dx;
        rms_norm_backward(tape.values(x), tape.values(w), eps, tape.grads(y), gradient);
      });
    }
    if (dw.data != nullptr && dw.accumulate) add(dweight, {dw.data, width});
  });
  return y;
}

Var rope(Tape& tape, Var x, std::shared_ptr<const RopeRows> table, int64_t head_dim) {
  check(table->rows == tape.rows(x), "rope: {} positions for {} rows", table->rows, tape.rows(x));
  const Var y = tape.make(tape.rows(x), tape.cols(x), {x});
  const std::span<float> out = tape.mutable_values(y);
  std::copy_n(tape.value(x), out.size(), out.data());
  rope(*table, head_dim, out);
  tape.set_backward(y, [&tape, x, y, table = std::move(table), head_dim] {
    tape.send(y, x, [&](std::span<float> dx) {
      std::copy_n(tape.grad(y), dx.size(), dx.data());
      rope_backward(*table, head_dim, dx);
    });
  });
  return y;
}

Var silu_mul(Tape& tape, Var gate, Var up) {
  check(
      tape.rows(gate) == tape.rows(up) && tape.cols(gate) == tape.cols(up),
      "silu_mul: gate and up differ in shape"
  );
  const Var y = tape.make(tape.rows(gate), tape.cols(gate), {gate, up});
  silu_mul(tape.values(gate), tape.values(up), tape.mutable_values(y));
  tape.set_backward(y, [&tape, gate, up, y] {
    // The kernel computes both at once; what nobody wants goes to scratch.
    const auto place = [&](Var input) {
      const GradSink to = tape.sink(input);
      const bool direct = to.data != nullptr && !to.accumulate;
      float* where = direct ? to.data : tape.scratch(y, tape.size(input));
      return std::pair(to, std::span<float>(where, static_cast<size_t>(tape.size(input))));
    };
    const auto [gate_sink, dgate] = place(gate);
    const auto [up_sink, dup] = place(up);
    silu_mul_backward(tape.values(gate), tape.values(up), tape.grads(y), {dgate, dup});
    if (gate_sink.accumulate) add(dgate, {gate_sink.data, dgate.size()});
    if (up_sink.accumulate) add(dup, {up_sink.data, dup.size()});
  });
  return y;
}

}  // namespace hone
