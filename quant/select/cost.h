// What quantizing a group of modules costs: the KL that calibration measured for it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/stats/stats.h"
#include "core/format/quantized_tensor.h"
#include "quant/plan.h"

namespace hone {

// Engines run all routed experts of a layer through one kernel, so they share one format; other
// modules that share a fused group do too. The name of the unit that is chosen as a whole:
// "model.layers.0.self_attn.qkv", "model.layers.3.mlp.experts", or the module itself.
std::string choice_group(Role role, std::string_view module, std::string_view fused_group);

// KL (nats per token) of quantizing the modules of one choice group to `format`: the measurement
// of the choice group itself where the statistics have one; otherwise the sum over its fused
// groups, each measured as a whole or, failing that, module by module. Negative measurements count
// as 0. Throws DataError naming the first module without a measurement, the formats that were
// measured and how to measure.
double measured_kl(
    const CalibrationStats& stats,
    const std::string& group,
    std::span<const PlanEntry* const> members,
    Format format
);

}  // namespace hone
