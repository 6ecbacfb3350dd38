// What dequantize.cc launches and dequantize_kernels.cu holds; plain types only, so that nvcc sees
// none of the host's headers. Internal to core/format/cuda.
#pragma once

#include <cstdint>

#include "core/device/cuda.h"

namespace hone {

enum class DecodedType : uint8_t { kF32, kBf16 };

struct FlatBlockFp8 {
  const uint8_t* codes;
  const float* scales;
  int64_t row0;
  int64_t rows;
  int64_t cols;
};
struct FlatNvfp4 {
  const uint8_t* codes;
  const uint8_t* scales;
  float g;
  bool divisor;
  int64_t blocks;  // of 16 elements, all rows together
};

void launch_block_fp8_decode(
    const FlatBlockFp8& source, DecodedType type, void* out, CudaStreamHandle stream
);
void launch_nvfp4_decode(
    const FlatNvfp4& source, DecodedType type, void* out, CudaStreamHandle stream
);

}  // namespace hone
