// Elements of any float dtype as float32, and back.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/tensor/dtype.h"

namespace hone {

// out[i] = float(source[i]) for i in [0, n). source: F32|BF16|F16|F8_E4M3|F8_E5M2|F8_E8M0|F64, any
// alignment; exact, but for F64 (rounded to nearest even). NaN stays NaN. No overlap.
// Single-threaded and vectorized. Throws UsageError for another dtype.
void load_floats(DType type, const std::byte* source, int64_t n, float* out);

// out[i] = type(source[i]), rounded to nearest even. type: F32|BF16|F16|F8_E4M3 (clamped to +-448)
// |F8_E5M2. No overlap. Throws UsageError for another dtype.
void store_floats(DType type, const float* source, int64_t n, std::byte* out);

}  // namespace hone
