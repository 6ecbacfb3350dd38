// Emulated activation quantization: x becomes the numbers that a low-precision kernel would see.
//
// kFp8Group128: each 1x128 group (the last may be shorter) is scaled by its amax / 448, rounded to
//               E4M3 and scaled back; see core/format for the exact rule.
// kNvfp4:       two-level: groups of 16 with an E4M3 scale under the calibrated input scale.
// Rows are independent, so results do not depend on batch or threads.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/format/quantized_tensor.h"

namespace hone {

struct ActivationQuant {
  ActivationRule rule = ActivationRule::kNone;
  std::optional<GlobalScale> input_scale;  // kNvfp4: required
  bool ue8m0_scale = false;                // kFp8Group128: scales rounded up to powers of two
};

// x: [rows, dim] f32, y the same size, may alias (and for kNone and aliasing nothing happens).
// UsageError on sizes, a missing input scale, or dim not divisible by 16 for kNvfp4.
void quantize_activations(
    const ActivationQuant& options, std::span<const float> x, int64_t dim, std::span<float> y
);

}  // namespace hone
