#include "quant/input_scale.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/format/fp8_scaled.h"
#include "core/format/nvfp4.h"

namespace hone {
namespace {

bool is_static(const PlanEntry& e) {
  return e.scheme != nullptr && needs_input_scale(e.scheme->activation);
}

float input_scale_of(ActivationRule rule, float amax) {
  return rule == ActivationRule::kNvfp4 ? nvfp4_global_scale(amax) : fp8_scale(amax);
}

bool is_routed_expert(Role role) {
  return role == Role::kMoeGate || role == Role::kMoeUp || role == Role::kMoeDown;
}

// Gate and up read the same input.
bool reads_expert_input(Role role) {
  return role == Role::kMoeGate || role == Role::kMoeUp;
}

const ModuleStats& stats_of(
    const PlanEntry& e, const CalibrationStats& stats, const std::string& source
) {
  const auto it = stats.modules.find(e.module);
  require_data(
      it != stats.modules.end(),
      "{}: no statistics of {}; calibrate this very checkpoint, or use a scheme that needs none "
      "(nvfp4a16, fp8-dynamic)",
      source,
      e.module
  );
  const ModuleStats& module = it->second;
  const Shape found{module.rows, module.cols};
  require_data(
      found == e.shape,
      "{}: {} was measured with shape {}, the checkpoint has {}; these are statistics of another "
      "model",
      source,
      e.module,
      found.str(),
      e.shape.str()
  );
  return module;
}

std::string group_name(const PlanEntry& e) {
  return e.fused_group.empty() ? e.module : e.fused_group;
}

}  // namespace

bool needs_input_scales(const Plan& plan) {
  return std::ranges::any_of(plan.entries, is_static);
}

std::map<std::string, float> input_scales(
    const Plan& plan, const CalibrationStats& stats, const std::string& source
) {
  std::map<std::string, float> group_amax;
  std::map<std::pair<int64_t, bool>, float>
      peer_amax;  // by layer and expert input (not its inside)
  for (const PlanEntry& e : plan.entries) {
    if (!is_static(e)) continue;
    const float amax = stats_of(e, stats, source).input_amax;
    float& group = group_amax[group_name(e)];
    group = std::max(group, amax);
    if (!is_routed_expert(e.role)) continue;
    float& peers = peer_amax[{e.layer, reads_expert_input(e.role)}];
    peers = std::max(peers, amax);
  }
  std::map<std::string, float> scales;
  for (const PlanEntry& e : plan.entries) {
    if (!is_static(e)) continue;
    float amax = group_amax.at(group_name(e));
    if (amax == 0.0F && is_routed_expert(e.role))
      amax = peer_amax.at({e.layer, reads_expert_input(e.role)});
    require_data(
        amax > 0.0F,
        "{}: the input of {} was zero for all {} calibration tokens, so it has no scale; calibrate "
        "with more data",
        source,
        e.module,
        stats.tokens
    );
    scales[e.module] = input_scale_of(e.scheme->activation, amax);
  }
  return scales;
}

}  // namespace hone
