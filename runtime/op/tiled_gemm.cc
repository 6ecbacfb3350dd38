#include "runtime/op/tiled_gemm.h"

#include <algorithm>

#include "core/base/threads.h"
#include "runtime/op/cpu/scratch.h"

namespace hone {
namespace {

// Rows of x whose packed copy is held at a time; weight tiles are decoded once for each such chunk.
constexpr int64_t kPackedRows = 512;
// Multiplications, and elements moved, that are worth a thread of their own.
constexpr int64_t kThreadWork = 1 << 16;
constexpr int64_t kThreadMoves = 1 << 14;

thread_local cpu::Scratch t_packed;
thread_local cpu::Scratch t_rows;
thread_local cpu::Scratch t_tile;

// [rows, k] to blocks of columns (cpu::MatmulCall::x), zeros behind each row.
void pack_rows(const cpu::MatmulCall& call, const float* x, float factor, float* packed) {
  const int64_t k = call.desc.k;
  ThreadPool::global().parallel_for(call.rows, kThreadMoves / k + 1, [&](int64_t r0, int64_t r1) {
    for (int64_t begin = 0; begin < k; begin += kMatmulBlock) {
      const int64_t columns = std::min(kMatmulBlock, k - begin);
      const int64_t stride = cpu::packed_stride(columns);
      for (int64_t r = r0; r < r1; ++r) {
        const float* in = x + r * k + begin;
        float* out = packed + begin / kMatmulBlock * cpu::kPackedBlock * call.rows + r * stride;
        if (factor == 1.0F) {
          std::copy_n(in, columns, out);
        } else {
          for (int64_t i = 0; i < columns; ++i) out[i] = factor * in[i];
        }
        std::fill_n(out + columns, stride - columns, 0.0F);
      }
    }
  });
}

}  // namespace

void transpose(const cpu::TransposeCall& call, int64_t rows) {
  const cpu::Kernels& kernels = cpu::kernels();
  // Ranges of whole vectors of output.
  const int64_t grain = (kThreadMoves / call.cols / 16 + 1) * 16;
  ThreadPool::global().parallel_for(rows, grain, [&](int64_t r0, int64_t r1) {
    kernels.transpose(call, r0, r1);
  });
}

void tiled_gemm(const TiledGemm& gemm, const float* x, float* y) {
  const cpu::Kernels& kernels = cpu::kernels();
  cpu::MatmulCall call = gemm.weight;
  const int64_t k = call.desc.k;
  const int64_t width = k / kMatmulBlock * cpu::kPackedBlock + cpu::packed_stride(k % kMatmulBlock);
  float factor = gemm.factor;
  if (gemm.transposed_x) {
    float* rows = t_rows.get(gemm.rows * k);
    transpose({x, gemm.rows, rows, k, factor}, k);
    x = rows;
    factor = 1.0F;
  }
  call.y_stride = call.desc.n;
  for (int64_t row = 0; row < gemm.rows; row += kPackedRows) {
    call.rows = std::min(kPackedRows, gemm.rows - row);
    float* packed = t_packed.get(call.rows * width);
    pack_rows(call, x + row * k, factor, packed);
    call.x = packed;
    call.y = y + row * call.y_stride;
    // Multiples of both register tiles (3 and 6 weight rows): enough of them to share out evenly,
    // none too small to be worth a thread.
    const int64_t least = std::max<int64_t>(12, kThreadWork / (k * call.rows));
    const int64_t rows_each = std::max(call.desc.n / 16, least);
    const int64_t grain = std::min(rows_each, cpu::kTileWeightRows) / 6 * 6;
    ThreadPool::global().parallel_for(call.desc.n, grain, [&](int64_t n0, int64_t n1) {
      kernels.matmul_tiled(call, n0, n1, t_tile.get(cpu::kTileWeightRows * cpu::kPackedBlock));
    });
  }
}

}  // namespace hone
