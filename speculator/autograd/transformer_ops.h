// Operations of a transformer block on the tape; the kernels are those of runtime/op.
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/op/rope.h"
#include "speculator/autograd/tape.h"

namespace hone {

// runtime/op/rms_norm.h. x: [n, dim], w: [1, dim].
Var rms_norm(Tape& tape, Var x, Var w, float eps);

// runtime/op/rope.h. x: [n, heads * head_dim]; one row of `table` for each row of x.
Var rope(Tape& tape, Var x, std::shared_ptr<const RopeRows> table, int64_t head_dim);

// runtime/op/silu_mul.h. gate, up: equal shapes.
Var silu_mul(Tape& tape, Var gate, Var up);

}  // namespace hone
