// Many rows of x: tiles of the weight are decoded to float32 once and reused for all rows. Bound by
// the FMA units.
#include "core/device/simd.h"
#include "runtime/op/cpu/dot_block.h"
#include "runtime/op/cpu/kernels.h"
#include "runtime/op/cpu/weight_rows.h"

namespace hone::HONE_ISA {
namespace {

// Rows of x that stay in the second-level cache while the panels of a weight tile pass over them.
constexpr int64_t kRowBlock = 64;

// Columns [begin, end) of weight rows [n0, n1) into the tile, padded to 16.
template <typename Row>
void decode_tile(
    const cpu::MatmulCall& call, const int64_t (&rows)[2], const int64_t (&columns)[2], float* tile
) {
  const int64_t stride = cpu::packed_stride(columns[1] - columns[0]);
  for (int64_t n = rows[0]; n < rows[1]; ++n) {
    const Row row(call, n);
    float* out = tile + (n - rows[0]) * stride;
    int64_t k = columns[0];
    for (; k + 32 <= columns[1]; k += 32, out += 32) {
      f32x16 a;
      f32x16 b;
      row.pair(k, a, b);
      store(out, a);
      store(out + 16, b);
    }
    if (k + 16 <= columns[1]) {
      store(out, row.one(k));
      out += 16;
      k += 16;
    }
    if (k < columns[1]) store(out, row.partial(k, columns[1] - k));
  }
}

// One block of columns of x and weight, rows `stride` apart.
struct Panel {
  const float* x;   // first row
  const float* w;   // first row
  int64_t columns;  // a multiple of 16
  int64_t stride;
  float* y;  // of the first row of both
  int64_t y_stride;
  bool first;  // first block: stores instead of adding
};

template <int kX, int kW>
void multiply_block(const Panel& p) {
  const float* x[kX];
  const float* w[kW];
  for (int i = 0; i < kX; ++i) x[i] = p.x + i * p.stride;
  for (int j = 0; j < kW; ++j) w[j] = p.w + j * p.stride;
  float sums[kX * kW];
  dot_block<kX, kW>(x, w, p.columns, sums);
  for (int i = 0; i < kX; ++i) {
    float* y = p.y + i * p.y_stride;
    for (int j = 0; j < kW; ++j) y[j] = p.first ? sums[i * kW + j] : y[j] + sums[i * kW + j];
  }
}

template <int kX, int kW>
void multiply_w(const Panel& p, int64_t weight_rows) {
  if constexpr (kW > 1) {
    if (weight_rows < kW) return multiply_w<kX, kW - 1>(p, weight_rows);
  }
  multiply_block<kX, kW>(p);
}

template <int kX>
void multiply_x(const Panel& p, int64_t x_rows, int64_t weight_rows) {
  if constexpr (kX > 1) {
    if (x_rows < kX) return multiply_x<kX - 1>(p, x_rows, weight_rows);
  }
  multiply_w<kX, kTileW>(p, weight_rows);
}

void multiply_tile(
    const cpu::MatmulCall& call, const int64_t (&rows)[2], int64_t block, const float* tile
) {
  const int64_t left = call.desc.k - block * kMatmulBlock;
  const int64_t stride = cpu::packed_stride(left < kMatmulBlock ? left : kMatmulBlock);
  const float* x = call.x + block * cpu::kPackedBlock * call.rows;
  for (int64_t r0 = 0; r0 < call.rows; r0 += kRowBlock) {
    const int64_t r1 = r0 + kRowBlock < call.rows ? r0 + kRowBlock : call.rows;
    for (int64_t n = rows[0]; n < rows[1]; n += kTileW) {
      for (int64_t r = r0; r < r1; r += kTileX) {
        const Panel panel{
            x + r * stride,
            tile + (n - rows[0]) * stride,
            stride - kMatmulLanes,
            stride,
            call.y + r * call.y_stride + n,
            call.y_stride,
            block == 0 && !call.accumulate};
        multiply_x<kTileX>(panel, r1 - r, rows[1] - n);
      }
    }
  }
}

template <typename Row>
void tiled(const cpu::MatmulCall& call, int64_t n0, int64_t n1, float* tile) {
  for (int64_t n = n0; n < n1; n += cpu::kTileWeightRows) {
    const int64_t end = n + cpu::kTileWeightRows < n1 ? n + cpu::kTileWeightRows : n1;
    for (int64_t block = 0; block * kMatmulBlock < call.desc.k; ++block) {
      const int64_t begin = block * kMatmulBlock;
      const int64_t stop = begin + kMatmulBlock < call.desc.k ? begin + kMatmulBlock : call.desc.k;
      decode_tile<Row>(call, {n, end}, {begin, stop}, tile);
      multiply_tile(call, {n, end}, block, tile);
    }
  }
}

void matmul_tiled(const cpu::MatmulCall& call, int64_t n0, int64_t n1, float* tile) {
  switch (call.desc.format) {
    case WeightFormat::kF32:
      return tiled<F32Row>(call, n0, n1, tile);
    case WeightFormat::kBF16:
      return tiled<Bf16Row>(call, n0, n1, tile);
    case WeightFormat::kF16:
      return tiled<F16Row>(call, n0, n1, tile);
    case WeightFormat::kBlockFp8:
      return tiled<Fp8Row>(call, n0, n1, tile);
    case WeightFormat::kNvfp4:
      return tiled<Nvfp4Row>(call, n0, n1, tile);
  }
}

}  // namespace

void fill_matmul_tiled(cpu::Kernels& table) {
  table.matmul_tiled = matmul_tiled;
}

}  // namespace hone::HONE_ISA
