#include "quant/select/cost.h"

#include <algorithm>
#include <map>
#include <optional>

#include "core/base/error.h"

namespace hone {
namespace {

bool is_routed_expert(Role role) {
  return role == Role::kMoeGate || role == Role::kMoeUp || role == Role::kMoeDown;
}

std::optional<double> lookup(
    const CalibrationStats& stats, const std::string& name, Format format
) {
  const auto module = stats.modules.find(name);
  if (module == stats.modules.end()) return std::nullopt;
  const auto value = module->second.sensitivity.find(std::string(format_name(format)));
  if (value == module->second.sensitivity.end()) return std::nullopt;
  return std::max(value->second.kl_mean, 0.0);
}

[[noreturn]] void refuse_missing(
    const CalibrationStats& stats, const std::string& module, Format format
) {
  std::string measured;
  if (const auto it = stats.modules.find(module); it != stats.modules.end()) {
    for (const auto& [name, value] : it->second.sensitivity) {
      measured += (measured.empty() ? "" : ", ") + name;
    }
  }
  throw DataError(fmt::format(
      "the statistics have no {} sensitivity of {} (measured there: {}); run hone calibrate with "
      "--sensitivity {}",
      format_name(format),
      module,
      measured.empty() ? "none" : measured,
      format_name(format)
  ));
}

}  // namespace

std::string choice_group(Role role, std::string_view module, std::string_view fused_group) {
  constexpr std::string_view kExperts = ".experts.";
  const size_t experts = module.find(kExperts);
  if (is_routed_expert(role) && experts != std::string_view::npos)
    return std::string(module.substr(0, experts + kExperts.size() - 1));
  return std::string(fused_group.empty() ? module : fused_group);
}

double measured_kl(
    const CalibrationStats& stats,
    const std::string& group,
    std::span<const PlanEntry* const> members,
    Format format
) {
  if (const auto whole = lookup(stats, group, format)) return *whole;
  double sum = 0;
  std::map<std::string, std::vector<const PlanEntry*>> parts;
  for (const PlanEntry* e : members) {
    parts[e->fused_group.empty() ? e->module : e->fused_group].push_back(e);
  }
  for (const auto& [name, modules] : parts) {
    if (const auto whole = lookup(stats, name, format)) {
      sum += *whole;
      continue;
    }
    for (const PlanEntry* e : modules) {
      const auto single = lookup(stats, e->module, format);
      if (!single) refuse_missing(stats, e->module, format);
      sum += *single;
    }
  }
  return sum;
}

}  // namespace hone
