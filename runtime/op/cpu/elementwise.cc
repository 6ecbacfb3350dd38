// Exponentials and the gate of SwiGLU, element by element.
#include "core/device/simd.h"
#include "runtime/op/cpu/kernels.h"
#include "runtime/op/cpu/vector_math.h"

namespace hone::HONE_ISA {
namespace {

HONE_SIMD f32x16 silu(f32x16 g) {
  return g / (set1(1.0F) + exp(-g));
}

void exp_all(const float* x, int64_t n, float* y) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) store(y + i, exp(load(x + i)));
  if (i < n) store_partial(y + i, n - i, exp(load_partial(x + i, n - i)));
}

void silu_mul(const float* gate, const float* up, int64_t n, float* y) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) store(y + i, silu(load(gate + i)) * load(up + i));
  if (i < n) {
    const int64_t left = n - i;
    store_partial(y + i, left, silu(load_partial(gate + i, left)) * load_partial(up + i, left));
  }
}

struct GatePair {
  f32x16 gate;
  f32x16 up;
};
HONE_SIMD GatePair silu_gradient(f32x16 g, f32x16 u, f32x16 dy) {
  const f32x16 one = set1(1.0F);
  const f32x16 s = one / (one + exp(-g));
  return {dy * u * (s * fma(g, one - s, one)), dy * (g * s)};
}

void silu_mul_backward(const float* const* inputs, int64_t n, float* dgate, float* dup) {
  const float* gate = inputs[0];
  const float* up = inputs[1];
  const float* dy = inputs[2];
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const GatePair d = silu_gradient(load(gate + i), load(up + i), load(dy + i));
    store(dgate + i, d.gate);
    store(dup + i, d.up);
  }
  if (i < n) {
    const int64_t left = n - i;
    const GatePair d = silu_gradient(
        load_partial(gate + i, left), load_partial(up + i, left), load_partial(dy + i, left)
    );
    store_partial(dgate + i, left, d.gate);
    store_partial(dup + i, left, d.up);
  }
}

}  // namespace

void fill_elementwise(cpu::Kernels& table) {
  table.exp = exp_all;
  table.silu_mul = silu_mul;
  table.silu_mul_backward = silu_mul_backward;
}

}  // namespace hone::HONE_ISA
