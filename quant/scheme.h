// Schemes: a weight format, the activation rule that goes with it, and who can say it on disk.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/format/quantized_tensor.h"

namespace hone {

// "fp8-block": E4M3 in 128x128 blocks, activations E4M3 in 1x128 groups (dynamic)
// "nvfp4":     E2M1 in blocks of 16, activations likewise with a calibrated input scale (W4A4)
// "nvfp4a16":  E2M1 in blocks of 16, activations untouched
// "fp8-tensor": E4M3 under one scale, activations E4M3 under a calibrated input scale
// "fp8-channel": E4M3, one scale per output channel, activations untouched
// "fp8-dynamic": as fp8-channel, activations E4M3 with one scale per token (dynamic)
// "mxfp4", "mxfp8": E2M1 or E4M3 with a power-of-two scale for 32, activations likewise (dynamic)
// "mxfp4a16":  as mxfp4, activations untouched
struct Scheme {
  std::string_view name;
  Format format;
  ActivationRule activation;
  std::string_view dialect;  // core/io/dialect.h: what the output folder speaks
};

std::span<const Scheme> schemes();
// nullptr for unknown names.
const Scheme* find_scheme(std::string_view name);
// Throws UsageError listing the known names.
const Scheme& scheme_by_name(std::string_view name);
// "fp8-block, nvfp4, nvfp4a16, ..."
std::string scheme_names();

// How block FP8 scales are rounded: as they are, or up to a power of two (lossless for engines that
// requantize to UE8M0 at load; see docs/formats.md).
enum class ScaleKind : uint8_t { kF32, kUe8m0 };
// "f32", "ue8m0"; throws UsageError otherwise.
ScaleKind parse_scale_kind(std::string_view name);

}  // namespace hone
