// Inner loops of the scale search, compiled for AVX2 and AVX-512. Internal to quant/method.
//
// Errors are sums of w (x - decoded)^2 in float32, blocks first brought into [1, 2) by a power of
// two (exact), elements in order; results are bit-identical on both instruction sets. Codes come
// from x times the reciprocal of the step, so that an element next to a tie may count with its
// other neighbour; both are equally far away to float32 accuracy.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/tensor/dtype.h"

namespace hone {

// One row of NVFP4.
struct Nvfp4SearchRow {
  DType type = DType::kF32;
  const std::byte* source = nullptr;
  int64_t n = 0;  // a multiple of 16
  float g = 1.0F;
  // Weights of the columns in the order of transposed_weights(), or null: all 1.
  const float* weights = nullptr;
  uint8_t* scales = nullptr;  // [n / 16], chosen
};

struct SearchKernels {
  // The code of least error among all positive E4M3 codes, the smallest of equals; 0x38 for an
  // all-zero block. Returns the row's error.
  double (*nvfp4_best)(const Nvfp4SearchRow& row);
  // The better of e4m3(amax / 6 / g) and e4m3(amax / 4 / g), the former of equals. Returns the
  // row's error.
  double (*nvfp4_four_over_six)(const Nvfp4SearchRow& row);
  // Error of n elements as E4M3 codes under `scale`. weights: [n] in order, or null.
  double (*fp8_error
  )(DType type, const std::byte* source, int64_t n, float scale, const float* weights);
  // Error of n elements (at most 32) as E2M1 codes under a power-of-two `scale`.
  double (*fp4_error
  )(DType type, const std::byte* source, int64_t n, float scale, const float* weights);
};

namespace avx2 {
extern const SearchKernels kSearchKernels;
}  // namespace avx2
namespace avx512 {
extern const SearchKernels kSearchKernels;
}  // namespace avx512

}  // namespace hone
