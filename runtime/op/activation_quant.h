// Emulated activation quantization: x becomes the numbers that a low-precision kernel would see.
//
// kFp8Group128: groups of 128 columns of a row (the last may be shorter), scale = max(amax, floor)
//               / 448, values rounded to E4M3.
// kNvfp4:       groups of 16 with an E4M3 scale under the calibrated input scale, values rounded to
//               E2M1.
// kFp8Token:    rows, scale = max(amax / 448, floor), values rounded to E4M3.
// kFp8Tensor:   the calibrated input scale for all, values rounded to E4M3.
// kMxfp4/8:     groups of 32 with a power-of-two scale, values rounded to E2M1 or E4M3.
// The rules themselves are core/format/activation.h. Rows are independent, so results do not depend
// on batch or threads.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/format/quantized_tensor.h"

namespace hone {

struct ActivationQuant {
  ActivationRule rule = ActivationRule::kNone;
  std::optional<GlobalScale> input_scale;  // kNvfp4, kFp8Tensor: required
  bool ue8m0_scale = false;                // kFp8Group128: scales rounded up to powers of two
};

// x: [rows, dim] f32, y the same size, may alias (and for kNone and aliasing nothing happens).
// UsageError on sizes, a missing input scale, or dim not divisible by 16 (kNvfp4) or 32 (MX).
void quantize_activations(
    const ActivationQuant& options, std::span<const float> x, int64_t dim, std::span<float> y
);

}  // namespace hone
