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
  if constexpr (HONE_ISA_WIDTH(HONE_ISA) == 512) return kRows <= 5 ? 4 : 2;
  return kRows == 1 ? 4 : kRows <= 3 ? 2 : 1;
}

struct RowsOfX {
  const float* first;
  int64_t stride;
};

// acc[r * kW + j] += columns k .. k + 31. With 32 registers all weight rows are decoded first, so
// that each vector of x is loaded once; with 16 they are decoded one by one.
template <typename Row, int kRows, int kW>
HONE_SIMD void add_pair(const Row* weight, int64_t k, RowsOfX x, f32x16 (&acc)[kRows * kW]) {
  if constexpr (HONE_ISA_WIDTH(HONE_ISA) == 512) {
    f32x16 a[kW];
    f32x16 b[kW];
    for (int j = 0; j < kW; ++j) weight[j].pair(k, a[j], b[j]);
    for (int r = 0; r < kRows; ++r) {
      const f32x16 left = load(x.first + r * x.stride + k);
      const f32x16 right = load(x.first + r * x.stride + k + 16);
      for (int j = 0; j < kW; ++j) acc[r * kW + j] = fma(left, a[j], acc[r * kW + j]);
      for (int j = 0; j < kW; ++j) acc[r * kW + j] = fma(right, b[j], acc[r * kW + j]);
    }
  } else {
    for (int j = 0; j < kW; ++j) {
      f32x16 a;
      f32x16 b;
      weight[j].pair(k, a, b);
      for (int r = 0; r < kRows; ++r) {
        f32x16& sum = acc[r * kW + j];
        sum = fma(load(x.first + r * x.stride + k), a, sum);
        sum = fma(load(x.first + r * x.stride + k + 16), b, sum);
      }
    }
  }
}

// One block of kMatmulBlock columns: sums[r * kW + j].
template <typename Row, int kRows, int kW>
HONE_SIMD void block_sums(const Row* weight, RowsOfX x, const int64_t (&range)[2], float* sums) {
  f32x16 acc[kRows * kW];
  for (int i = 0; i < kRows * kW; ++i) acc[i] = zero();
  int64_t k = range[0];
  for (; k + 32 <= range[1]; k += 32) add_pair<Row, kRows, kW>(weight, k, x, acc);
  if (k + 16 <= range[1]) {
    for (int j = 0; j < kW; ++j) {
      const f32x16 a = weight[j].one(k);
      for (int r = 0; r < kRows; ++r) {
        acc[r * kW + j] = fma(load(x.first + r * x.stride + k), a, acc[r * kW + j]);
      }
    }
    k += 16;
  }
  if (k < range[1]) {
    const int64_t left = range[1] - k;
    for (int j = 0; j < kW; ++j) {
      const f32x16 a = weight[j].partial(k, left);
      for (int r = 0; r < kRows; ++r) {
        acc[r * kW + j] = fma(load_partial(x.first + r * x.stride + k, left), a, acc[r * kW + j]);
      }
    }
  }
  for (int i = 0; i < kRows * kW; ++i) acc[i] = Row::in_order(acc[i]);
  hsum_all<kRows * kW>(acc, sums);
}

// Blocks of columns that start in [columns[0], columns[1]), for kW outputs from n on.
template <typename Row, int kRows, int kW>
HONE_SIMD void outputs(
    const cpu::MatmulCall& call, const Row* weight, int64_t n, const int64_t (&columns)[2]
) {
  const int64_t k = call.desc.k;
  for (int64_t begin = columns[0]; begin < columns[1]; begin += kMatmulBlock) {
    const int64_t end = begin + kMatmulBlock < k ? begin + kMatmulBlock : k;
    float sums[kRows * kW];
    block_sums<Row, kRows, kW>(weight, {call.x, call.x_stride}, {begin, end}, sums);
    for (int r = 0; r < kRows; ++r) {
      float* y = call.y + r * call.y_stride + n;
      for (int j = 0; j < kW; ++j) y[j] = begin == 0 ? sums[r * kW + j] : y[j] + sums[r * kW + j];
    }
  }
}

template <typename Row, int kRows>
HONE_SIMD void direct_columns(
    const cpu::MatmulCall& call, const int64_t (&range)[2], const int64_t (&columns)[2]
) {
  constexpr int kW = weight_rows<kRows>();
  int64_t n = range[0];
  if constexpr (kW == 4) {
    for (; n + 4 <= range[1]; n += 4) {
      const Row rows[4] = {{call, n}, {call, n + 1}, {call, n + 2}, {call, n + 3}};
      outputs<Row, kRows, 4>(call, rows, n, columns);
    }
  } else if constexpr (kW == 2) {
    for (; n + 2 <= range[1]; n += 2) {
      const Row rows[2] = {{call, n}, {call, n + 1}};
      outputs<Row, kRows, 2>(call, rows, n, columns);
    }
  }
  for (; n < range[1]; ++n) {
    const Row row(call, n);
    outputs<Row, kRows, 1>(call, &row, n, columns);
  }
}

// Weight rows that see one block of x before the next block comes.
constexpr int64_t kBlockWeightRows = 64;

template <typename Row, int kRows>
void direct(const cpu::MatmulCall& call, int64_t n0, int64_t n1) {
  const int64_t k = call.desc.k;
  if constexpr (kRows <= 4) {
    direct_columns<Row, kRows>(call, {n0, n1}, {0, k});
  } else {
    // Eight rows of x of one block fill the first-level cache; the whole rows would come from the
    // second for every group of weight rows.
    for (int64_t n = n0; n < n1; n += kBlockWeightRows) {
      const int64_t end = n + kBlockWeightRows < n1 ? n + kBlockWeightRows : n1;
      for (int64_t begin = 0; begin < k; begin += kMatmulBlock) {
        direct_columns<Row, kRows>(call, {n, end}, {begin, begin + 1});
      }
    }
  }
}

// The first rows of x: how many fit the registers with AVX2.
constexpr int64_t kRowsAtOnce = HONE_ISA_WIDTH(HONE_ISA) == 512 ? 8 : 4;
// Weight rows that stay in the first-level cache between two passes over the rows of x.
constexpr int64_t kPassWeightRows = 4;

template <typename Row>
void direct_rows(const cpu::MatmulCall& call, int64_t n0, int64_t n1) {
  switch (call.rows) {
    case 1:
      return direct<Row, 1>(call, n0, n1);
    case 2:
      return direct<Row, 2>(call, n0, n1);
    case 3:
      return direct<Row, 3>(call, n0, n1);
    case 4:
      return direct<Row, 4>(call, n0, n1);
    default:
      break;
  }
  if constexpr (kRowsAtOnce == 8) {
    switch (call.rows) {
      case 5:
        return direct<Row, 5>(call, n0, n1);
      case 6:
        return direct<Row, 6>(call, n0, n1);
      case 7:
        return direct<Row, 7>(call, n0, n1);
      default:
        return direct<Row, 8>(call, n0, n1);
    }
  }
}

template <typename Row>
void direct_any(const cpu::MatmulCall& call, int64_t n0, int64_t n1) {
  static_assert(cpu::kDirectRows == 8);
  if (call.rows <= kRowsAtOnce) return direct_rows<Row>(call, n0, n1);
  for (int64_t n = n0; n < n1; n += kPassWeightRows) {
    const int64_t end = n + kPassWeightRows < n1 ? n + kPassWeightRows : n1;
    for (int64_t r = 0; r < call.rows; r += kRowsAtOnce) {
      cpu::MatmulCall part = call;
      part.rows = call.rows - r < kRowsAtOnce ? call.rows - r : kRowsAtOnce;
      part.x = call.x + r * call.x_stride;
      part.y = call.y + r * call.y_stride;
      direct_rows<Row>(part, n, end);
    }
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
      return direct_any<Nvfp4OrderedRow>(call, n0, n1);
  }
}

// n is a multiple of 16.
void order_columns(const float* x, int64_t n, float* ordered) {
  for (int64_t i = 0; i < n; i += 16) store(ordered + i, order_nvfp4(load(x + i)));
}

}  // namespace

void fill_matmul_direct(cpu::Kernels& table) {
  table.order_nvfp4 = kNvfp4Ordered ? order_columns : nullptr;
  table.matmul_direct = matmul_direct;
}

}  // namespace hone::HONE_ISA
