// Few rows of x: the weight is decoded in registers and used at once, so that it is read once and
// never written. Bound by memory bandwidth.
#include "core/device/simd.h"
#include "runtime/op/cpu/dot_block.h"
#include "runtime/op/cpu/kernels.h"
#include "runtime/op/cpu/weight_rows.h"

namespace hone::HONE_ISA {
namespace {

// Weight rows that share the loads of x; with `kRows` of them the accumulators fit the registers.
template <int kRows>
constexpr int weight_rows() {
#if HONE_ISA_WIDTH(HONE_ISA) == 512
  return 4;
#else
  return kRows == 1 ? 4 : kRows <= 3 ? 2 : 1;
#endif
}

// One block of kMatmulBlock columns: sums[r * kW + j].
template <typename Row, int kRows, int kW>
HONE_SIMD void block_sums(
    const Row* weight, const float* x, int64_t stride, const int64_t (&range)[2], float* sums
) {
  f32x16 acc[kRows * kW];
  for (int i = 0; i < kRows * kW; ++i) acc[i] = zero();
  int64_t k = range[0];
  for (; k + 32 <= range[1]; k += 32) {
    for (int j = 0; j < kW; ++j) {
      f32x16 a;
      f32x16 b;
      weight[j].pair(k, a, b);
      for (int r = 0; r < kRows; ++r) {
        f32x16& sum = acc[r * kW + j];
        sum = fma(load(x + r * stride + k), a, sum);
        sum = fma(load(x + r * stride + k + 16), b, sum);
      }
    }
  }
  if (k + 16 <= range[1]) {
    for (int j = 0; j < kW; ++j) {
      const f32x16 a = weight[j].one(k);
      for (int r = 0; r < kRows; ++r) {
        acc[r * kW + j] = fma(load(x + r * stride + k), a, acc[r * kW + j]);
      }
    }
    k += 16;
  }
  if (k < range[1]) {
    const int64_t left = range[1] - k;
    for (int j = 0; j < kW; ++j) {
      const f32x16 a = weight[j].partial(k, left);
      for (int r = 0; r < kRows; ++r) {
        acc[r * kW + j] = fma(load_partial(x + r * stride + k, left), a, acc[r * kW + j]);
      }
    }
  }
  hsum_all<kRows * kW>(acc, sums);
}

template <typename Row, int kRows, int kW>
HONE_SIMD void outputs(const cpu::MatmulCall& call, const Row* weight, int64_t n) {
  const int64_t columns = call.desc.k;
  for (int64_t begin = 0; begin < columns; begin += kMatmulBlock) {
    const int64_t end = begin + kMatmulBlock < columns ? begin + kMatmulBlock : columns;
    float sums[kRows * kW];
    block_sums<Row, kRows, kW>(weight, call.x, columns, {begin, end}, sums);
    for (int r = 0; r < kRows; ++r) {
      float* y = call.y + r * call.y_stride + n;
      for (int j = 0; j < kW; ++j) y[j] = begin == 0 ? sums[r * kW + j] : y[j] + sums[r * kW + j];
    }
  }
}

template <typename Row, int kRows>
void direct(const cpu::MatmulCall& call, int64_t n0, int64_t n1) {
  constexpr int kW = weight_rows<kRows>();
  int64_t n = n0;
  if constexpr (kW == 4) {
    for (; n + 4 <= n1; n += 4) {
      const Row rows[4] = {{call, n}, {call, n + 1}, {call, n + 2}, {call, n + 3}};
      outputs<Row, kRows, 4>(call, rows, n);
    }
  } else if constexpr (kW == 2) {
    for (; n + 2 <= n1; n += 2) {
      const Row rows[2] = {{call, n}, {call, n + 1}};
      outputs<Row, kRows, 2>(call, rows, n);
    }
  }
  for (; n < n1; ++n) {
    const Row row(call, n);
    outputs<Row, kRows, 1>(call, &row, n);
  }
}

template <typename Row>
void direct_any(const cpu::MatmulCall& call, int64_t n0, int64_t n1) {
  static_assert(cpu::kDirectRows == 4);
  switch (call.rows) {
    case 1:
      return direct<Row, 1>(call, n0, n1);
    case 2:
      return direct<Row, 2>(call, n0, n1);
    case 3:
      return direct<Row, 3>(call, n0, n1);
    default:
      return direct<Row, 4>(call, n0, n1);
  }
}

void matmul_direct(const cpu::MatmulCall& call, int64_t n0, int64_t n1) {
  switch (call.desc.format) {
    case WeightFormat::kF32:
      return direct_any<F32Row>(call, n0, n1);
    case WeightFormat::kBF16:
      return direct_any<Bf16Row>(call, n0, n1);
    case WeightFormat::kF16:
      return direct_any<F16Row>(call, n0, n1);
    case WeightFormat::kBlockFp8:
      return direct_any<Fp8Row>(call, n0, n1);
    case WeightFormat::kNvfp4:
      return direct_any<Nvfp4Row>(call, n0, n1);
  }
}

}  // namespace

void fill_matmul_direct(cpu::Kernels& table) {
  table.matmul_direct = matmul_direct;
}

}  // namespace hone::HONE_ISA
