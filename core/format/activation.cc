#include "core/format/activation.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/device/cpu_isa.h"
#include "core/device/host_device.h"
#include "core/format/e8m0.h"
#include "core/format/fp8.h"
#include "core/format/mx.h"
#include "core/format/row_kernels.h"

namespace hone {
namespace {

constexpr int64_t kGroup = 128;
constexpr int64_t kBlock = 16;

const std::byte* as_bytes(const float* x) {
  return reinterpret_cast<const std::byte*>(x);
}

void check_nvfp4(int64_t cols, float g) {
  require(
      cols % kBlock == 0, "NVFP4 activations need a width divisible by {}, found {}", kBlock, cols
  );
  require(std::isfinite(g) && g > 0.0F, "NVFP4 input scale {} is not a positive number", g);
}

}  // namespace

void round_fp8_activations(float* x, int64_t rows, int64_t cols, const Fp8ActivationRule& rule) {
  const LoadKernels& load = by_isa(avx2::kLoadKernels, avx512::kLoadKernels);
  const Fp8Kernels& fp8 = by_isa(avx2::kFp8Kernels, avx512::kFp8Kernels);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < cols; c += kGroup) {
      float* group = x + r * cols + c;
      const int64_t n = std::min(kGroup, cols - c);
      float amax = bits_as<float>(load.amax_bits(DType::kF32, as_bytes(group), n));
      if (amax < rule.amax_floor) amax = rule.amax_floor;  // keeps NaN
      float scale = amax / kE4m3Max;
      if (rule.power_of_two) scale = e8m0_decode(e8m0_encode_ceil(scale));
      // Without a floor an all-zero group has no scale; it stays as it is.
      if (scale != 0.0F) fp8.round(group, n, scale);
    }
  }
}

void round_fp8_token_activations(float* x, int64_t rows, int64_t cols) {
  const LoadKernels& load = by_isa(avx2::kLoadKernels, avx512::kLoadKernels);
  const Fp8Kernels& fp8 = by_isa(avx2::kFp8Kernels, avx512::kFp8Kernels);
  for (int64_t r = 0; r < rows; ++r) {
    float* row = x + r * cols;
    float scale = bits_as<float>(load.amax_bits(DType::kF32, as_bytes(row), cols)) / kE4m3Max;
    if (scale < kFp8TokenScaleFloor) scale = kFp8TokenScaleFloor;  // keeps NaN
    fp8.round(row, cols, scale);
  }
}

void round_fp8_tensor_activations(float* x, int64_t n, float s) {
  require(std::isfinite(s) && s > 0.0F, "FP8 input scale {} is not a positive number", s);
  by_isa(avx2::kFp8Kernels, avx512::kFp8Kernels).round(x, n, s);
}

void round_mx_activations(float* x, int64_t rows, int64_t cols, Format format) {
  const MxScaleBias bias = mx_scale_bias(format, MxScaleRule::kCeil);
  require(
      cols % kMxBlock == 0, "MX activations need a width divisible by {}, found {}", kMxBlock, cols
  );
  const MxKernels& kernels = by_isa(avx2::kMxKernels, avx512::kMxKernels);
  for (int64_t r = 0; r < rows; ++r) {
    kernels.round(format == Format::kMxfp4, bias.add, bias.emax, x + r * cols, cols);
  }
}

void round_nvfp4_activations(float* x, int64_t rows, int64_t cols, float g) {
  check_nvfp4(cols, g);
  const Nvfp4Kernels& kernels = by_isa(avx2::kNvfp4Kernels, avx512::kNvfp4Kernels);
  for (int64_t r = 0; r < rows; ++r) kernels.round(x + r * cols, cols, g);
}

void encode_nvfp4_activations(
    const float* x, int64_t rows, int64_t cols, float g, const Nvfp4ActivationCodes& out
) {
  check_nvfp4(cols, g);
  const Nvfp4Kernels& kernels = by_isa(avx2::kNvfp4Kernels, avx512::kNvfp4Kernels);
  for (int64_t r = 0; r < rows; ++r) {
    kernels.encode(
        {DType::kF32,
         as_bytes(x + r * cols),
         cols,
         g,
         Nvfp4ScaleRule::kActivation,
         out.codes + r * (cols / 2),
         out.scales + r * (cols / kBlock)}
    );
  }
}

}  // namespace hone
