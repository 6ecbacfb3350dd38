// The CPU kernels of runtime/op: one table of functions for each instruction set.
//
// Sources listed with hone_isa_sources() fill their part of the table; kernels() gives the one for
// this CPU. Arguments are checked by the callers in runtime/op; pointers may be unaligned. No
// kernel starts threads: callers split ranges.
#pragma once

#include <cstdint>

#include "runtime/op/matmul.h"

namespace hone::cpu {

// Rows of x that are multiplied while the weight is decoded in registers; from here on the weight
// is decoded to float32 tiles once and reused.
inline constexpr int64_t kDirectRows = 8;
// Weight rows in one decoded tile, 800 KB of float32: packed x passes through the second-level
// cache once for each tile, so tiles are as large as that cache allows.
inline constexpr int64_t kTileWeightRows = 192;
// Rows of a block of columns, padded to 16 columns, lie this far apart in tiles and packed x: one
// cache line more than their width, so that the rows of a register tile fall into different sets.
constexpr int64_t packed_stride(int64_t columns) {
  return (columns + kMatmulLanes - 1) / kMatmulLanes * kMatmulLanes + kMatmulLanes;
}
inline constexpr int64_t kPackedBlock = packed_stride(kMatmulBlock);

struct MatmulCall {
  MatmulDesc desc;
  const uint8_t* codes = nullptr;           // as stored
  const float* block_scales_256 = nullptr;  // kBlockFp8: block scales times 256 (weight_rows.h)
  const uint8_t* group_scales = nullptr;    // kNvfp4
  // kNvfp4: products[scale code * 16 + code] = e2m1(code) * (e4m3(scale code) * global)
  const float* products = nullptr;
  int64_t rows = 0;
  // Direct kernel: rows x_stride apart, for kNvfp4 through order_nvfp4 where there is one. Tiled
  // kernel: packed in blocks of kMatmulBlock columns, block b at b * kPackedBlock * rows, its rows
  // packed_stride(columns) apart and padded to 16 columns with zeros. Aligned to cache lines:
  // vectors that straddle two cost double.
  const float* x = nullptr;
  int64_t x_stride = 0;
  float* y = nullptr;  // [rows, y_stride]
  int64_t y_stride = 0;
  bool accumulate = false;  // tiled kernel: y = y + block 0 instead of y = block 0
};

struct TransposeCall {
  const float* in = nullptr;
  int64_t cols = 0;
  float* out = nullptr;
  int64_t out_stride = 0;
  float factor = 1.0F;
};

// One query of one head.
struct AttentionQuery {
  const float* q = nullptr;
  float* out = nullptr;
  int64_t prefix = 0;
  const int64_t* path = nullptr;
  int64_t path_length = 0;
};

// Most queries in one call.
inline constexpr int64_t kAttentionQueries = 64;

// Queries of one sequence that read the same KV head.
struct AttentionCall {
  const AttentionQuery* queries = nullptr;
  int64_t count = 0;  // at most kAttentionQueries
  const float* const* key_pages = nullptr;
  const float* const* value_pages = nullptr;
  int64_t page_tokens = 0;
  int64_t head_offset = 0;  // of the KV head's rows in a page, in floats
  int64_t head_dim = 0;
  float scale = 1.0F;
  float* scratch = nullptr;  // count * (head_dim padded to 16 + kAttentionTile) floats
};

struct RowsCall {
  const float* x = nullptr;
  const float* other = nullptr;  // second operand, where an op has one
  const float* weight = nullptr;
  float* y = nullptr;
  int64_t dim = 0;
  float eps = 0;
};

struct Kernels {
  const char* isa = "";
  // Outputs [n0, n1) for call.rows <= kDirectRows.
  void (*matmul_direct)(const MatmulCall& call, int64_t n0, int64_t n1) = nullptr;
  // Columns of x in the order in which matmul_direct reads kNvfp4 weights; null: as they are.
  void (*order_nvfp4)(const float* x, int64_t n, float* ordered) = nullptr;
  // Outputs [n0, n1) for any number of packed rows; tile holds kTileWeightRows * kPackedBlock.
  void (*matmul_tiled)(const MatmulCall& call, int64_t n0, int64_t n1, float* tile) = nullptr;
  // out[c, r] = factor * in[r, c] for rows [row0, row1) of in: [.., cols], out: [cols, out_stride].
  void (*transpose)(const TransposeCall& call, int64_t row0, int64_t row1) = nullptr;
  void (*attention)(const AttentionCall& call) = nullptr;
  void (*exp)(const float* x, int64_t n, float* y) = nullptr;
  void (*silu_mul)(const float* gate, const float* up, int64_t n, float* y) = nullptr;
  // dgate, dup from gate, up, dy.
  void (*silu_mul_backward
  )(const float* const* inputs, int64_t n, float* dgate, float* dup) = nullptr;
  // Rows [row0, row1) of y from x.
  void (*rms_norm)(const RowsCall& call, int64_t row0, int64_t row1) = nullptr;
  // inverse[row] = 1 / sqrt(mean(x^2) + eps).
  void (*rms_inverse)(const RowsCall& call, int64_t row0, int64_t row1, float* inverse) = nullptr;
  // dx (y) from x, dy (other), weight and inverse.
  void (*rms_norm_backward
  )(const RowsCall& call, int64_t row0, int64_t row1, const float* inverse) = nullptr;
  void (*softmax)(const RowsCall& call, int64_t row0, int64_t row1) = nullptr;
  void (*log_softmax)(const RowsCall& call, int64_t row0, int64_t row1) = nullptr;
  // x: output of the forward op, other: dy, y: dx.
  void (*softmax_backward)(const RowsCall& call, int64_t row0, int64_t row1) = nullptr;
  void (*log_softmax_backward)(const RowsCall& call, int64_t row0, int64_t row1) = nullptr;
};

// The table for the instruction set that core/device/cpu_isa.h names now.
const Kernels& kernels();

}  // namespace hone::cpu

namespace hone::avx2 {
void fill_matmul_direct(cpu::Kernels& table);
void fill_matmul_tiled(cpu::Kernels& table);
void fill_attention(cpu::Kernels& table);
void fill_elementwise(cpu::Kernels& table);
void fill_rows(cpu::Kernels& table);
void fill_transpose(cpu::Kernels& table);
}  // namespace hone::avx2

namespace hone::avx512 {
void fill_matmul_direct(cpu::Kernels& table);
void fill_matmul_tiled(cpu::Kernels& table);
void fill_attention(cpu::Kernels& table);
void fill_elementwise(cpu::Kernels& table);
void fill_rows(cpu::Kernels& table);
void fill_transpose(cpu::Kernels& table);
}  // namespace hone::avx512
