#include "core/format/block_fp8.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "core/device/cpu_isa.h"
#include "core/device/host_device.h"
#include "core/format/e8m0.h"
#include "core/format/fp8.h"
#include "core/format/non_finite.h"
#include "core/format/row_kernels.h"

namespace hone {
namespace {

constexpr float kSmallestScale = 0x1p-126F;
// DeepGEMM raises the amax of a block to this when it casts to power-of-two scales.
constexpr float kDeepGemmFloor = 1e-4F;
// Blocks side by side in one piece of work: 128 rows x 1024 columns of BF16 stay in the L2 cache
// between the amax and the encode pass, and each row is read in runs of 2 KB.
constexpr int64_t kTileBlocks = 8;

const Fp8Kernels& fp8_kernels() {
  return by_isa(avx2::kFp8Kernels, avx512::kFp8Kernels);
}

// One piece of work: rows [row, row + rows) and columns [col, col + cols) of the slab.
struct Tile {
  int64_t row = 0;
  int64_t rows = 0;
  int64_t col = 0;
  int64_t cols = 0;
};

void check_aligned(const RowSlab& slab) {
  require(
      slab.row0 % kFp8Block == 0,
      "a slab of block FP8 starts at row {}; expected a multiple of {}",
      slab.row0,
      kFp8Block
  );
}

// Runs body over the tiles of a slab in parallel.
template <typename Body>
void for_tiles(const RowSlab& slab, ThreadPool& pool, Body body) {
  const int64_t across = (fp8_blocks(slab.cols) + kTileBlocks - 1) / kTileBlocks;
  pool.parallel_for(fp8_blocks(slab.rows) * across, 1, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const int64_t row = t / across * kFp8Block;
      const int64_t col = t % across * kTileBlocks * kFp8Block;
      body(Tile{
          row,
          std::min(kFp8Block, slab.rows - row),
          col,
          std::min(kTileBlocks * kFp8Block, slab.cols - col)});
    }
  });
}

void encode_tile(const RowSlab& slab, const Tile& tile, const float* scales, uint8_t* codes) {
  const Fp8Kernels& kernels = fp8_kernels();
  const int64_t size = dtype_bits(slab.type) / 8;
  for (int64_t r = 0; r < tile.rows; ++r) {
    const int64_t row = tile.row + r;
    for (int64_t c = 0; c < tile.cols; c += kFp8Block) {
      const int64_t col = tile.col + c;
      kernels.encode(
          slab.type,
          slab.row(row) + col * size,
          std::min(kFp8Block, tile.cols - c),
          scales[col / kFp8Block],
          codes + row * slab.cols + col
      );
    }
  }
}

// Bits of the amax of each block of the tile.
std::array<uint32_t, kTileBlocks> tile_amax(
    const RowSlab& slab, const Tile& tile, FirstNonFinite& bad
) {
  const LoadKernels& kernels = by_isa(avx2::kLoadKernels, avx512::kLoadKernels);
  const int64_t size = dtype_bits(slab.type) / 8;
  std::array<uint32_t, kTileBlocks> amax{};
  for (int64_t r = 0; r < tile.rows; ++r) {
    const std::byte* row = slab.row(tile.row + r) + tile.col * size;
    for (int64_t c = 0; c < tile.cols; c += kFp8Block) {
      const int64_t n = std::min(kFp8Block, tile.cols - c);
      const uint32_t found = kernels.amax_bits(slab.type, row + c * size, n);
      if (found >= kInfinityBits) bad.offer(find_non_finite(slab, tile.row + r, tile.col + c, n));
      amax[c / kFp8Block] = std::max(amax[c / kFp8Block], found);
    }
  }
  return amax;
}

}  // namespace

float block_fp8_scale(float amax, const BlockFp8Rule& rule) {
  const float raised = std::max(amax, rule.amax_floor);
  if (raised == 0.0F) return 1.0F;
  float scale = raised / kE4m3Max;
  if (rule.scale == Fp8Scale::kPowerOfTwo) scale = e8m0_decode(e8m0_encode_ceil(scale));
  return std::max(scale, kSmallestScale);
}

std::optional<NonFinite> block_fp8_encode(
    const RowSlab& slab, const BlockFp8Rule& rule, uint8_t* codes, float* scales, ThreadPool& pool
) {
  check_aligned(slab);
  FirstNonFinite bad;
  const int64_t scale_cols = fp8_blocks(slab.cols);
  for_tiles(slab, pool, [&](const Tile& tile) {
    const auto amax = tile_amax(slab, tile, bad);
    float* row_scales = scales + tile.row / kFp8Block * scale_cols;
    for (int64_t b = 0; b < fp8_blocks(tile.cols); ++b) {
      row_scales[tile.col / kFp8Block + b] = block_fp8_scale(bits_as<float>(amax[b]), rule);
    }
    encode_tile(slab, tile, row_scales, codes);
  });
  return bad.first();
}

void block_fp8_encode_with_scales(
    const RowSlab& slab, const float* scales, uint8_t* codes, ThreadPool& pool
) {
  check_aligned(slab);
  const int64_t scale_cols = fp8_blocks(slab.cols);
  for_tiles(slab, pool, [&](const Tile& tile) {
    encode_tile(slab, tile, scales + tile.row / kFp8Block * scale_cols, codes);
  });
}

void block_fp8_decode(const BlockFp8Rows& source, float* out) {
  const Fp8Kernels& kernels = fp8_kernels();
  const int64_t scale_cols = fp8_blocks(source.cols);
  for (int64_t r = 0; r < source.rows; ++r) {
    const float* scales = source.scales + (source.row0 + r) / kFp8Block * scale_cols;
    for (int64_t c = 0; c < source.cols; c += kFp8Block) {
      const int64_t at = r * source.cols + c;
      const int64_t n = std::min(kFp8Block, source.cols - c);
      kernels.decode(source.codes + at, n, scales[c / kFp8Block], out + at);
    }
  }
}

QuantizedTensor quantize_block_fp8(
    const TensorView& weight, const BlockFp8Rule& rule, std::string_view name, ThreadPool& pool
) {
  const RowSlab slab = RowSlab::of(weight);
  QuantizedTensor result;
  result.format = Format::kBlockFp8;
  result.rows = slab.rows;
  result.cols = slab.cols;
  result.codes = Tensor(DType::kF8E4M3, {slab.rows, slab.cols});
  result.block_scales = Tensor(DType::kF32, {fp8_blocks(slab.rows), fp8_blocks(slab.cols)});
  const auto bad = block_fp8_encode(
      slab,
      rule,
      reinterpret_cast<uint8_t*>(result.codes.bytes()),
      result.block_scales.as<float>().data(),
      pool
  );
  if (bad) throw_non_finite(name, *bad);
  return result;
}

QuantizedTensor requantize_power_of_two(const QuantizedTensor& tensor, ThreadPool& pool) {
  check(tensor.format == Format::kBlockFp8, "only block FP8 has power-of-two scales");
  QuantizedTensor result = tensor;
  result.codes = tensor.codes.clone();
  result.block_scales = tensor.block_scales.clone();
  const auto* old_codes = reinterpret_cast<const uint8_t*>(tensor.codes.bytes());
  auto* new_codes = reinterpret_cast<uint8_t*>(result.codes.bytes());
  const std::span<float> scales = result.block_scales.as<float>();
  const int64_t across = fp8_blocks(tensor.cols);
  const BlockFp8Rule rule{Fp8Scale::kPowerOfTwo, kDeepGemmFloor};
  const Fp8Kernels& kernels = fp8_kernels();
  pool.parallel_for(static_cast<int64_t>(scales.size()), 1, [&](int64_t begin, int64_t end) {
    std::vector<float> block(kFp8Block * kFp8Block);
    for (int64_t b = begin; b < end; ++b) {
      if (is_e8m0(scales[b])) continue;
      const int64_t row = b / across * kFp8Block;
      const int64_t col = b % across * kFp8Block;
      const int64_t rows = std::min(kFp8Block, tensor.rows - row);
      const int64_t cols = std::min(kFp8Block, tensor.cols - col);
      float amax = 0.0F;
      for (int64_t r = 0; r < rows; ++r) {
        float* values = block.data() + r * cols;
        kernels.decode(old_codes + (row + r) * tensor.cols + col, cols, scales[b], values);
        for (int64_t c = 0; c < cols; ++c) amax = std::max(amax, std::abs(values[c]));
      }
      scales[b] = block_fp8_scale(amax, rule);
      for (int64_t r = 0; r < rows; ++r) {
        kernels.encode(
            DType::kF32,
            reinterpret_cast<const std::byte*>(block.data() + r * cols),
            cols,
            scales[b],
            new_codes + (row + r) * tensor.cols + col
        );
      }
    }
  });
  return result;
}

}  // namespace hone
