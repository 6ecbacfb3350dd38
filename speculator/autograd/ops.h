// General operations of the tape. Each states its backward; dX is the gradient of X.
#pragma once

#include <cstdint>
#include <vector>

#include "speculator/autograd/tape.h"

namespace hone {

// y = x w^T.  x: [n, in], w: [out, in] (as linear layers are stored), y: [n, out].
// dx = dy w, dw = dy^T x.
Var linear(Tape& tape, Var x, Var w);

// y = a + b, equal shapes. da = db = dy.
Var add(Tape& tape, Var a, Var b);

// y = a * b element by element, equal shapes. da = dy b, db = dy a.
Var mul(Tape& tape, Var a, Var b);

// y = factor * x. dx = factor * dy.
Var scale(Tape& tape, Var x, float factor);

// y = [a | b] row by row. a: [n, p], b: [n, q], y: [n, p + q].
Var concat_columns(Tape& tape, Var a, Var b);

// y = x[:, begin : begin + count].
Var slice_columns(Tape& tape, Var x, int64_t begin, int64_t count);

// y[i, :] = x[rows[i], :]; rows may repeat (embedding lookup: x is the table). The gradients of
// repeated rows are summed in the order of i.
Var gather_rows(Tape& tape, Var x, std::vector<int32_t> rows);

// Sum of all elements, [1, 1].
Var sum(Tape& tape, Var x);

}  // namespace hone
