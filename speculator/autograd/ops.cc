#include "speculator/autograd/ops.h"

#include <algorithm>
#include <cstring>

#include "core/base/error.h"
#include "runtime/op/sgemm.h"

namespace hone {
namespace {

constexpr int64_t kElementGrain = 1 << 14;
constexpr int64_t kColumnGrain = 64;
constexpr int64_t kRowGrain = 32;

void require_same_shape(const Tape& tape, Var a, Var b, const char* name) {
  check(
      tape.rows(a) == tape.rows(b) && tape.cols(a) == tape.cols(b),
      "{}: shapes [{}, {}] and [{}, {}] differ",
      name,
      tape.rows(a),
      tape.cols(a),
      tape.rows(b),
      tape.cols(b)
  );
}

// sink[i] (+)= term(i) over all elements.
template <typename Term>
void fill(ThreadPool& pool, const GradSink& sink, int64_t n, const Term& term) {
  if (sink.data == nullptr) return;
  pool.parallel_for(n, kElementGrain, [&](int64_t begin, int64_t end) {
    float* out = sink.data;
    if (sink.accumulate)
      for (int64_t i = begin; i < end; ++i) out[i] += term(i);
    else
      for (int64_t i = begin; i < end; ++i) out[i] = term(i);
  });
}

// Copies (or adds) `count` columns between matrices of different widths.
struct ColumnBlock {
  int64_t rows = 0;
  int64_t count = 0;
  const float* from = nullptr;
  int64_t from_stride = 0;
  float* to = nullptr;
  int64_t to_stride = 0;
  bool accumulate = false;
};

void move_columns(ThreadPool& pool, const ColumnBlock& block) {
  pool.parallel_for(block.rows, kRowGrain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const float* from = block.from + row * block.from_stride;
      float* to = block.to + row * block.to_stride;
      if (block.accumulate)
        for (int64_t i = 0; i < block.count; ++i) to[i] += from[i];
      else
        std::copy_n(from, block.count, to);
    }
  });
}

}  // namespace

Var linear(Tape& tape, Var x, Var w) {
  const int64_t n = tape.rows(x);
  const int64_t in = tape.cols(x);
  const int64_t out = tape.rows(w);
  check(tape.cols(w) == in, "linear: input of {} columns, weight of {}", in, tape.cols(w));
  const Var y = tape.make(n, out, {x, w});
  if (n == 0) return y;
  linear_forward(tape.values(x), tape.values(w), in, tape.mutable_values(y));
  tape.set_backward(y, [&tape, x, w, y, n, in, out] {
    if (const GradSink dx = tape.sink(x); dx.data != nullptr) {
      const SgemmArgs product{.m = n, .n = in, .k = out, .beta = dx.accumulate ? 1.0F : 0.0F};
      sgemm(product, tape.grads(y), tape.values(w), {dx.data, static_cast<size_t>(n * in)});
    }
    if (const GradSink dw = tape.sink(w); dw.data != nullptr) {
      const SgemmArgs product{
          .m = out, .n = in, .k = n, .transpose_a = true, .beta = dw.accumulate ? 1.0F : 0.0F};
      sgemm(product, tape.grads(y), tape.values(x), {dw.data, static_cast<size_t>(out * in)});
    }
  });
  return y;
}

Var add(Tape& tape, Var a, Var b) {
  require_same_shape(tape, a, b, "add");
  const int64_t n = tape.rows(a) * tape.cols(a);
  const Var y = tape.make(tape.rows(a), tape.cols(a), {a, b});
  const float* va = tape.value(a);
  const float* vb = tape.value(b);
  fill(tape.pool(), {tape.mutable_value(y), false}, n, [=](int64_t i) { return va[i] + vb[i]; });
  tape.set_backward(y, [&tape, a, b, y, n] {
    const float* dy = tape.grad(y);
    fill(tape.pool(), tape.sink(a), n, [=](int64_t i) { return dy[i]; });
    fill(tape.pool(), tape.sink(b), n, [=](int64_t i) { return dy[i]; });
  });
  return y;
}

Var mul(Tape& tape, Var a, Var b) {
  require_same_shape(tape, a, b, "mul");
  const int64_t n = tape.rows(a) * tape.cols(a);
  const Var y = tape.make(tape.rows(a), tape.cols(a), {a, b});
  const float* va = tape.value(a);
  const float* vb = tape.value(b);
  fill(tape.pool(), {tape.mutable_value(y), false}, n, [=](int64_t i) { return va[i] * vb[i]; });
  tape.set_backward(y, [&tape, a, b, y, n, va, vb] {
    const float* dy = tape.grad(y);
    fill(tape.pool(), tape.sink(a), n, [=](int64_t i) { return dy[i] * vb[i]; });
    fill(tape.pool(), tape.sink(b), n, [=](int64_t i) { return dy[i] * va[i]; });
  });
  return y;
}

Var scale(Tape& tape, Var x, float factor) {
  const int64_t n = tape.rows(x) * tape.cols(x);
  const Var y = tape.make(tape.rows(x), tape.cols(x), {x});
  const float* vx = tape.value(x);
  fill(tape.pool(), {tape.mutable_value(y), false}, n, [=](int64_t i) { return factor * vx[i]; });
  tape.set_backward(y, [&tape, x, y, n, factor] {
    const float* dy = tape.grad(y);
    fill(tape.pool(), tape.sink(x), n, [=](int64_t i) { return factor * dy[i]; });
  });
  return y;
}

Var concat_columns(Tape& tape, Var a, Var b) {
  const int64_t n = tape.rows(a);
  const int64_t p = tape.cols(a);
  const int64_t q = tape.cols(b);
  check(tape.rows(b) == n, "concat_columns: {} rows and {} rows", n, tape.rows(b));
  const Var y = tape.make(n, p + q, {a, b});
  float* vy = tape.mutable_value(y);
  move_columns(tape.pool(), {n, p, tape.value(a), p, vy, p + q, false});
  move_columns(tape.pool(), {n, q, tape.value(b), q, vy + p, p + q, false});
  tape.set_backward(y, [&tape, a, b, y, n, p, q] {
    const float* dy = tape.grad(y);
    if (const GradSink da = tape.sink(a); da.data != nullptr)
      move_columns(tape.pool(), {n, p, dy, p + q, da.data, p, da.accumulate});
    if (const GradSink db = tape.sink(b); db.data != nullptr)
      move_columns(tape.pool(), {n, q, dy + p, p + q, db.data, q, db.accumulate});
  });
  return y;
}

Var slice_columns(Tape& tape, Var x, int64_t begin, int64_t count) {
  const int64_t n = tape.rows(x);
  const int64_t width = tape.cols(x);
  check(
      begin >= 0 && count >= 0 && begin + count <= width,
      "slice_columns: [{}, {}) of {} columns",
      begin,
      begin + count,
      width
  );
  const Var y = tape.make(n, count, {x});
  move_columns(
      tape.pool(), {n, count, tape.value(x) + begin, width, tape.mutable_value(y), count, false}
  );
  tape.set_backward(y, [&tape, x, y, n, begin, count, width] {
    const GradSink dx = tape.sink(x);
    if (dx.data == nullptr) return;
    if (!dx.accumulate) std::memset(dx.data, 0, static_cast<size_t>(n * width) * sizeof(float));
    move_columns(tape.pool(), {n, count, tape.grad(y), count, dx.data + begin, width, true});
  });
  return y;
}

Var gather_rows(Tape& tape, Var x, std::vector<int32_t> rows) {
  const auto n = static_cast<int64_t>(rows.size());
  const int64_t source_rows = tape.rows(x);
  const int64_t width = tape.cols(x);
  for (const int32_t row : rows)
    check(row >= 0 && row < source_rows, "gather_rows: row {} of {}", row, source_rows);
  const Var y = tape.make(n, width, {x});
  const float* from = tape.value(x);
  float* to = tape.mutable_value(y);
  tape.pool().parallel_for(n, kRowGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      std::copy_n(from + rows[static_cast<size_t>(i)] * width, width, to + i * width);
  });
  tape.set_backward(y, [&tape, x, y, n, width, source_rows, rows = std::move(rows)] {
    const GradSink dx = tape.sink(x);
    if (dx.data == nullptr) return;
    if (!dx.accumulate)
      std::memset(dx.data, 0, static_cast<size_t>(source_rows * width) * sizeof(float));
    const float* dy = tape.grad(y);
    // Rows may repeat, so threads share columns out, and each adds all rows in order.
    tape.pool().parallel_for(width, kColumnGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = 0; i < n; ++i) {
        float* target = dx.data + rows[static_cast<size_t>(i)] * width;
        for (int64_t c = begin; c < end; ++c) target[c] += dy[i * width + c];
      }
    });
  });
  return y;
}

Var sum(Tape& tape, Var x) {
  const int64_t n = tape.rows(x) * tape.cols(x);
  const Var y = tape.make(1, 1, {x});
  const float* vx = tape.value(x);
  const double total = tape.pool().parallel_sum(n, kElementGrain, [=](int64_t begin, int64_t end) {
    double part = 0;
    for (int64_t i = begin; i < end; ++i) part += static_cast<double>(vx[i]);
    return part;
  });
  tape.mutable_value(y)[0] = static_cast<float>(total);
  tape.set_backward(y, [&tape, x, y, n] {
    const float dy = tape.grad(y)[0];
    fill(tape.pool(), tape.sink(x), n, [=](int64_t) { return dy; });
  });
  return y;
}

}  // namespace hone
