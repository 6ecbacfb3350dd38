// Normalizations of whole rows: RMS norm, softmax, log-softmax, and their gradients. Sums run in
// sixteen lanes, then the lane tree.
#include "core/device/simd.h"
#include "runtime/op/cpu/kernels.h"
#include "runtime/op/cpu/vector_math.h"

namespace hone::HONE_ISA {
namespace {

// Calls full(i) for each whole vector of a row, then partial(i, left) for what is left.
template <typename Full, typename Partial>
HONE_SIMD void each_vector(int64_t dim, Full full, Partial partial) {
  int64_t i = 0;
  for (; i + 16 <= dim; i += 16) full(i);
  if (i < dim) partial(i, dim - i);
}

// sum_i a_i * b_i
HONE_SIMD float dot(const float* a, const float* b, int64_t dim) {
  f32x16 sum = zero();
  each_vector(
      dim,
      [&](int64_t i) { sum = fma(load(a + i), load(b + i), sum); },
      [&](int64_t i, int64_t n) { sum = fma(load_partial(a + i, n), load_partial(b + i, n), sum); }
  );
  return hsum(sum);
}

// y_i = f(a_i, b_i); b may be null when f ignores it.
template <typename F>
HONE_SIMD void map_row(const float* a, const float* b, int64_t dim, float* y, F f) {
  each_vector(
      dim,
      [&](int64_t i) { store(y + i, f(load(a + i), load(b + i))); },
      [&](int64_t i, int64_t n) {
        store_partial(y + i, n, f(load_partial(a + i, n), load_partial(b + i, n)));
      }
  );
}

// 1 / sqrt(mean(x^2) + eps) in every lane.
HONE_SIMD f32x16 inverse_rms(const float* x, int64_t dim, float eps) {
  const float mean = dot(x, x, dim) / static_cast<float>(dim);
  return set1(1.0F) / sqrt(set1(mean) + set1(eps));
}

void rms_norm(const cpu::RowsCall& call, int64_t row0, int64_t row1) {
  for (int64_t row = row0; row < row1; ++row) {
    const float* x = call.x + row * call.dim;
    const f32x16 s = inverse_rms(x, call.dim, call.eps);
    map_row(x, call.weight, call.dim, call.y + row * call.dim, [&](f32x16 a, f32x16 w) {
      return a * s * w;
    });
  }
}

void rms_inverse(const cpu::RowsCall& call, int64_t row0, int64_t row1, float* inverse) {
  for (int64_t row = row0; row < row1; ++row) {
    store_partial(inverse + row, 1, inverse_rms(call.x + row * call.dim, call.dim, call.eps));
  }
}

void rms_norm_backward(
    const cpu::RowsCall& call, int64_t row0, int64_t row1, const float* inverse
) {
  for (int64_t row = row0; row < row1; ++row) {
    const float* x = call.x + row * call.dim;
    const float* dy = call.other + row * call.dim;
    float* dx = call.y + row * call.dim;
    f32x16 sum = zero();
    each_vector(
        call.dim,
        [&](int64_t i) { sum = fma(load(dy + i) * load(call.weight + i), load(x + i), sum); },
        [&](int64_t i, int64_t n) {
          const f32x16 g = load_partial(dy + i, n) * load_partial(call.weight + i, n);
          sum = fma(g, load_partial(x + i, n), sum);
        }
    );
    const float s = inverse[row];
    const f32x16 factor = set1(hsum(sum) / static_cast<float>(call.dim) * s * s);
    const f32x16 scale = set1(s);
    each_vector(
        call.dim,
        [&](int64_t i) {
          const f32x16 g = load(dy + i) * load(call.weight + i);
          store(dx + i, fnma(load(x + i), factor, g) * scale);
        },
        [&](int64_t i, int64_t n) {
          const f32x16 g = load_partial(dy + i, n) * load_partial(call.weight + i, n);
          store_partial(dx + i, n, fnma(load_partial(x + i, n), factor, g) * scale);
        }
    );
  }
}

HONE_SIMD float row_max(const float* x, int64_t dim) {
  f32x16 top = set1(kNegativeInfinity);
  each_vector(
      dim,
      [&](int64_t i) { top = max(top, load(x + i)); },
      [&](int64_t i, int64_t n) { top = max(top, load_filled(x + i, n, kNegativeInfinity)); }
  );
  return hmax(top);
}

void softmax(const cpu::RowsCall& call, int64_t row0, int64_t row1) {
  for (int64_t row = row0; row < row1; ++row) {
    const float* x = call.x + row * call.dim;
    float* y = call.y + row * call.dim;
    const f32x16 top = set1(row_max(x, call.dim));
    f32x16 sum = zero();
    each_vector(
        call.dim,
        [&](int64_t i) {
          const f32x16 e = exp(load(x + i) - top);
          sum = sum + e;
          store(y + i, e);
        },
        [&](int64_t i, int64_t n) {
          const f32x16 e = exp(load_filled(x + i, n, kNegativeInfinity) - top);
          sum = sum + e;
          store_partial(y + i, n, e);
        }
    );
    const f32x16 total = set1(hsum(sum));
    map_row(y, y, call.dim, y, [&](f32x16 e, f32x16) { return e / total; });
  }
}

void log_softmax(const cpu::RowsCall& call, int64_t row0, int64_t row1) {
  for (int64_t row = row0; row < row1; ++row) {
    const float* x = call.x + row * call.dim;
    const f32x16 top = set1(row_max(x, call.dim));
    f32x16 sum = zero();
    each_vector(
        call.dim,
        [&](int64_t i) { sum = sum + exp(load(x + i) - top); },
        [&](int64_t i, int64_t n) {
          sum = sum + exp(load_filled(x + i, n, kNegativeInfinity) - top);
        }
    );
    const f32x16 log_sum = set1(static_cast<float>(__builtin_log(hsum(sum))));
    map_row(x, x, call.dim, call.y + row * call.dim, [&](f32x16 a, f32x16) {
      return (a - top) - log_sum;
    });
  }
}

void softmax_backward(const cpu::RowsCall& call, int64_t row0, int64_t row1) {
  for (int64_t row = row0; row < row1; ++row) {
    const float* y = call.x + row * call.dim;
    const float* dy = call.other + row * call.dim;
    const f32x16 sum = set1(dot(y, dy, call.dim));
    map_row(y, dy, call.dim, call.y + row * call.dim, [&](f32x16 p, f32x16 d) {
      return p * (d - sum);
    });
  }
}

void log_softmax_backward(const cpu::RowsCall& call, int64_t row0, int64_t row1) {
  for (int64_t row = row0; row < row1; ++row) {
    const float* y = call.x + row * call.dim;
    const float* dy = call.other + row * call.dim;
    f32x16 lanes = zero();
    each_vector(
        call.dim,
        [&](int64_t i) { lanes = lanes + load(dy + i); },
        [&](int64_t i, int64_t n) { lanes = lanes + load_partial(dy + i, n); }
    );
    const f32x16 sum = set1(hsum(lanes));
    map_row(y, dy, call.dim, call.y + row * call.dim, [&](f32x16 log_p, f32x16 d) {
      return fnma(exp(log_p), sum, d);
    });
  }
}

}  // namespace

void fill_rows(cpu::Kernels& table) {
  table.rms_norm = rms_norm;
  table.rms_inverse = rms_inverse;
  table.rms_norm_backward = rms_norm_backward;
  table.softmax = softmax;
  table.log_softmax = log_softmax;
  table.softmax_backward = softmax_backward;
  table.log_softmax_backward = log_softmax_backward;
}

}  // namespace hone::HONE_ISA
