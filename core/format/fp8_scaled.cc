#include "core/format/fp8_scaled.h"

#include <algorithm>
#include <cmath>

#include "core/device/cpu_isa.h"
#include "core/device/host_device.h"
#include "core/format/fp8.h"
#include "core/format/non_finite.h"
#include "core/format/row_kernels.h"

namespace hone {
namespace {

// Devices flush smaller scales to zero.
constexpr float kSmallestScale = 0x1p-126F;

const Fp8Kernels& fp8_kernels() {
  return by_isa(avx2::kFp8Kernels, avx512::kFp8Kernels);
}

QuantizedTensor empty_result(Format format, const RowSlab& slab) {
  QuantizedTensor result;
  result.format = format;
  result.rows = slab.rows;
  result.cols = slab.cols;
  result.codes = Tensor(DType::kF8E4M3, {slab.rows, slab.cols});
  return result;
}

uint8_t* code_bytes(QuantizedTensor& tensor) {
  return reinterpret_cast<uint8_t*>(tensor.codes.bytes());
}

}  // namespace

float fp8_scale(float amax) {
  require(std::isfinite(amax) && amax >= 0.0F, "amax {} is not a finite magnitude", amax);
  if (amax == 0.0F) return 1.0F;
  return std::max(amax / kE4m3Max, kSmallestScale);
}

std::optional<NonFinite> fp8_channel_encode(
    const RowSlab& slab, uint8_t* codes, float* scales, ThreadPool& pool
) {
  const LoadKernels& load = by_isa(avx2::kLoadKernels, avx512::kLoadKernels);
  const Fp8Kernels& fp8 = fp8_kernels();
  FirstNonFinite bad;
  pool.parallel_for(slab.rows, row_grain(slab.cols), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const uint32_t amax = load.amax_bits(slab.type, slab.row(r), slab.cols);
      if (amax >= kInfinityBits) {
        bad.offer(find_non_finite(slab, r, 0, slab.cols));
        return;
      }
      scales[r] = fp8_scale(bits_as<float>(amax));
      fp8.encode(slab.type, slab.row(r), slab.cols, scales[r], codes + r * slab.cols);
    }
  });
  return bad.first();
}

void fp8_tensor_encode(const RowSlab& slab, float g, uint8_t* codes, ThreadPool& pool) {
  require(std::isfinite(g) && g > 0.0F, "FP8 scale {} is not a positive number", g);
  const Fp8Kernels& fp8 = fp8_kernels();
  pool.parallel_for(slab.rows, row_grain(slab.cols), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      fp8.encode(slab.type, slab.row(r), slab.cols, g, codes + r * slab.cols);
    }
  });
}

void fp8_scaled_decode(const Fp8ScaledRows& source, float* out) {
  const Fp8Kernels& fp8 = fp8_kernels();
  for (int64_t r = 0; r < source.rows; ++r) {
    const float scale = source.scales != nullptr ? source.scales[r] : source.g;
    fp8.decode(source.codes + r * source.cols, source.cols, scale, out + r * source.cols);
  }
}

QuantizedTensor quantize_fp8_channel(
    const TensorView& weight, std::string_view name, ThreadPool& pool
) {
  const RowSlab slab = RowSlab::of(weight);
  QuantizedTensor result = empty_result(Format::kFp8Channel, slab);
  result.block_scales = Tensor(DType::kF32, {slab.rows, 1});
  const auto bad =
      fp8_channel_encode(slab, code_bytes(result), result.block_scales.as<float>().data(), pool);
  if (bad) throw_non_finite(name, *bad);
  return result;
}

QuantizedTensor quantize_fp8_tensor(
    const TensorView& weight, float g, std::string_view name, ThreadPool& pool
) {
  const RowSlab slab = RowSlab::of(weight);
  const AmaxResult scan = slab_amax(slab, pool);
  if (scan.bad) throw_non_finite(name, *scan.bad);
  QuantizedTensor result = empty_result(Format::kFp8Tensor, slab);
  result.global = {g, false};
  fp8_tensor_encode(slab, g, code_bytes(result), pool);
  return result;
}

}  // namespace hone
