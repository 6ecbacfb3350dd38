// Inner loops of the codecs over one row, compiled for AVX2 and AVX-512. Internal to core/format.
//
// `type` is F32, BF16 or F16 (load and store take every float dtype); sources and codes need no
// alignment. Callers have checked sizes and dtypes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/tensor/dtype.h"

namespace hone {

struct LoadKernels {
  void (*load)(DType type, const std::byte* source, int64_t n, float* out);
  void (*store)(DType type, const float* source, int64_t n, std::byte* out);
  // Bits of the largest |x|, so that NaN and infinity (>= 0x7F800000) come out on top.
  uint32_t (*amax_bits)(DType type, const std::byte* source, int64_t n);
};

struct Fp8Kernels {
  // codes[i] = e4m3_encode(source[i] / scale); source finite, scale positive and finite
  void (*encode)(DType type, const std::byte* source, int64_t n, float scale, uint8_t* codes);
  // out[i] = e4m3_decode(codes[i]) * scale
  void (*decode)(const uint8_t* codes, int64_t n, float scale, float* out);
  // x[i] = e4m3_decode(e4m3_encode(x[i] / scale)) * scale
  void (*round)(float* x, int64_t n, float scale);
};

// How the scale of a block of 16 comes about.
enum class Nvfp4ScaleRule : uint8_t {
  kWeight,      // never 0; 1 for an all-zero block
  kActivation,  // may round to 0
  kGiven,       // already in `scales`
};

struct Nvfp4RowArgs {
  DType type = DType::kF32;
  const std::byte* source = nullptr;
  int64_t n = 0;  // a multiple of 16
  float g = 1.0F;
  Nvfp4ScaleRule rule = Nvfp4ScaleRule::kWeight;
  uint8_t* codes = nullptr;   // [n / 2]
  uint8_t* scales = nullptr;  // [n / 16]
};

struct Nvfp4Kernels {
  void (*encode)(const Nvfp4RowArgs& row);
  // out: [n] f32
  // divisor: g divides the block scales instead of multiplying them.
  void (*decode
  )(const uint8_t* codes, const uint8_t* scales, int64_t n, float g, bool divisor, float* out);
  // The activation rule applied to x, in place.
  void (*round)(float* x, int64_t n, float g);
};

struct MxRowArgs {
  DType type = DType::kF32;
  const std::byte* source = nullptr;
  int64_t n = 0;  // a multiple of 32
  bool fp4 = true;
  // MxScaleBias of core/format/mx.h.
  int32_t add = 0;
  int32_t emax = 0;
  uint8_t* codes = nullptr;   // [n / 2] or [n]
  uint8_t* scales = nullptr;  // [n / 32]
};

struct MxKernels {
  // Bits of the row's amax; with a NaN or infinity the output is unspecified.
  uint32_t (*encode)(const MxRowArgs& row);
  // Scales are already in row.scales.
  void (*encode_with_scales)(const MxRowArgs& row);
  // Encoded and decoded again, in place; a block with a NaN or infinity becomes NaN.
  void (*round)(bool fp4, int32_t add, int32_t emax, float* x, int64_t n);
  // out: [n] f32
  void (*decode)(bool fp4, const uint8_t* codes, const uint8_t* scales, int64_t n, float* out);
};

namespace avx2 {
extern const LoadKernels kLoadKernels;
extern const Fp8Kernels kFp8Kernels;
extern const Nvfp4Kernels kNvfp4Kernels;
extern const MxKernels kMxKernels;
}  // namespace avx2
namespace avx512 {
extern const LoadKernels kLoadKernels;
extern const Fp8Kernels kFp8Kernels;
extern const Nvfp4Kernels kNvfp4Kernels;
extern const MxKernels kMxKernels;
}  // namespace avx512

}  // namespace hone
