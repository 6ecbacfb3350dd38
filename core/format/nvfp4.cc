#include "core/format/nvfp4.h"

#include <algorithm>
#include <cmath>

#include "core/device/cpu_isa.h"
#include "core/format/fp8.h"
#include "core/format/non_finite.h"
#include "core/format/row_kernels.h"

namespace hone {
namespace {

constexpr float kSmallestGlobal = 0x1p-126F;
constexpr uint8_t kZeroBlockScale = 0x38;  // 1.0

const Nvfp4Kernels& nvfp4_kernels() {
  return by_isa(avx2::kNvfp4Kernels, avx512::kNvfp4Kernels);
}

bool survives_inversion(float g) {
  const float divisor = 1.0F / g;
  return 1.0F / divisor == g;
}

void check_args(int64_t cols, float g) {
  require(
      cols % kNvfp4Block == 0,
      "NVFP4 needs a number of columns divisible by {}, found {}; leave this tensor unquantized",
      kNvfp4Block,
      cols
  );
  require(std::isfinite(g) && g > 0.0F, "NVFP4 global scale {} is not a positive number", g);
}

void encode_rows(const RowSlab& slab, const Nvfp4RowArgs& args, ThreadPool& pool) {
  check_args(slab.cols, args.g);
  const Nvfp4Kernels& kernels = nvfp4_kernels();
  pool.parallel_for(slab.rows, row_grain(slab.cols), [&](int64_t begin, int64_t end) {
    Nvfp4RowArgs row = args;
    row.type = slab.type;
    row.n = slab.cols;
    for (int64_t r = begin; r < end; ++r) {
      row.source = slab.row(r);
      row.codes = args.codes + r * (slab.cols / 2);
      row.scales = args.scales + r * (slab.cols / kNvfp4Block);
      kernels.encode(row);
    }
  });
}

}  // namespace

float nvfp4_global_scale(float amax, float range) {
  require(std::isfinite(amax) && amax >= 0.0F, "amax {} is not a finite magnitude", amax);
  if (amax == 0.0F) return 1.0F;
  float g = std::max(amax / range, kSmallestGlobal);
  // Mantissas above sqrt(2) may miss by an ulp or two.
  while (!survives_inversion(g)) g = std::nextafter(g, INFINITY);
  return g;
}

uint8_t nvfp4_block_scale(float block_amax, float g) {
  if (block_amax == 0.0F) return kZeroBlockScale;
  return e4m3_encode(std::max((block_amax / 6.0F) / g, kE4m3MinSubnormal));
}

void nvfp4_encode(const RowSlab& slab, float g, uint8_t* codes, uint8_t* scales, ThreadPool& pool) {
  encode_rows(
      slab, {.g = g, .rule = Nvfp4ScaleRule::kWeight, .codes = codes, .scales = scales}, pool
  );
}

void nvfp4_encode_with_scales(
    const RowSlab& slab, float g, const uint8_t* scales, uint8_t* codes, ThreadPool& pool
) {
  // kGiven only reads the scales.
  auto* given = const_cast<uint8_t*>(scales);
  encode_rows(
      slab, {.g = g, .rule = Nvfp4ScaleRule::kGiven, .codes = codes, .scales = given}, pool
  );
}

void nvfp4_decode(const Nvfp4Rows& source, float* out) {
  const Nvfp4Kernels& kernels = nvfp4_kernels();
  for (int64_t r = 0; r < source.rows; ++r) {
    kernels.decode(
        source.codes + r * (source.cols / 2),
        source.scales + r * (source.cols / kNvfp4Block),
        source.cols,
        source.g,
        source.divisor,
        out + r * source.cols
    );
  }
}

QuantizedTensor quantize_nvfp4(
    const TensorView& weight, float g, std::string_view name, ThreadPool& pool
) {
  const RowSlab slab = RowSlab::of(weight);
  check_args(slab.cols, g);
  const AmaxResult scan = slab_amax(slab, pool);
  if (scan.bad) throw_non_finite(name, *scan.bad);
  QuantizedTensor result;
  result.format = Format::kNvfp4;
  result.rows = slab.rows;
  result.cols = slab.cols;
  result.codes = Tensor(DType::kU8, {slab.rows, slab.cols / 2});
  result.block_scales = Tensor(DType::kF8E4M3, {slab.rows, slab.cols / kNvfp4Block});
  result.global = {g, false};
  nvfp4_encode(
      slab,
      g,
      reinterpret_cast<uint8_t*>(result.codes.bytes()),
      reinterpret_cast<uint8_t*>(result.block_scales.bytes()),
      pool
  );
  return result;
}

}  // namespace hone
