// Input scales of layers whose activations are quantized under a calibrated scale.
#pragma once

#include <map>
#include <string>

#include "calibrate/stats/stats.h"
#include "quant/plan.h"

namespace hone {

// For every module of the plan with ActivationRule::kNvfp4 or kFp8Tensor: the scale (multiplier) of
// its input, nvfp4_global_scale(amax) or fp8_scale(amax), where amax is the largest input_amax of
// its fused group. A routed expert that no token reached takes the largest amax of the same
// projection among the experts of its layer, so that every expert has a usable scale. `source`
// names the statistics in errors. Throws DataError: a module without statistics, with another shape
// than the checkpoint's, or without any non-zero input.
std::map<std::string, float> input_scales(
    const Plan& plan, const CalibrationStats& stats, const std::string& source
);

// Does any module of the plan need one?
bool needs_input_scales(const Plan& plan);

}  // namespace hone
