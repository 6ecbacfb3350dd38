// HQ33x: modules that belong together: fused groups, the experts of a layer, KV cache scales.
#include <algorithm>
#include <map>
#include <set>

#include "core/base/error.h"
#include "quant/check/check_table.h"

namespace hone {
namespace {

void fused_groups_are_one_scheme(const CheckContext& c, Findings& found) {
  for (const auto& [group, members] : c.modules.groups()) {
    // Those whose format is not what the config says have been named already.
    const auto sound = [](const CheckedModule* m) {
      return m->declared ? m->consistent() || m->declared->form == StoredForm::kForeign
                         : m->codes == Codes::kDense;
    };
    if (!std::ranges::all_of(members, sound)) continue;
    const CheckedModule* first = members.front();
    for (const CheckedModule* member : members) {
      const bool same = member->declared.has_value() == first->declared.has_value() &&
                        (!member->declared || member->declared->same_scheme(*first->declared));
      if (same) continue;
      const auto text = [](const CheckedModule* m) {
        return m->declared ? form_name(m->declared->form) : std::string_view("not quantized");
      };
      found.add(
          group,
          fmt::format("{} is {}, {} is {}", first->name, text(first), member->name, text(member))
      );
      break;
    }
  }
}

void fused_groups_share_their_input(const CheckContext& c, Findings& found) {
  for (const auto& [group, members] : c.modules.groups()) {
    const CheckedModule* first = members.front();
    for (const CheckedModule* member : members) {
      if (member->rows == 0 || first->rows == 0 || member->cols == first->cols) continue;
      found.add(
          group,
          fmt::format(
              "{} has {} input features, {} has {}",
              first->name,
              first->cols,
              member->name,
              member->cols
          )
      );
      break;
    }
  }
}

// "model.layers.0.mlp.experts" -> expert number -> its modules by what stands behind the number.
using Experts =
    std::map<std::string, std::map<std::string, std::map<std::string, const CheckedModule*>>>;

Experts routed_experts(const CheckContext& c) {
  constexpr std::string_view kExperts = ".experts.";
  Experts experts;
  for (const CheckedModule& module : c.modules.modules()) {
    if (!routed_expert(module.role) || module.weight() == nullptr) continue;
    const size_t at = module.name.rfind(kExperts);
    if (at == std::string::npos) continue;
    const size_t number = at + kExperts.size();
    const size_t dot = module.name.find('.', number);
    if (dot == std::string::npos) continue;
    experts[module.name.substr(0, number - 1)][module.name.substr(number, dot - number)]
           [module.name.substr(dot + 1)] = &module;
  }
  return experts;
}

void experts_are_complete(const CheckContext& c, Findings& found) {
  if (c.files.incomplete || !c.files.unreachable.empty()) return;
  for (const auto& [parent, experts] : routed_experts(c)) {
    std::set<std::string> leaves;
    for (const auto& [number, modules] : experts) {
      for (const auto& [leaf, module] : modules) leaves.insert(leaf);
    }
    for (const auto& [number, modules] : experts) {
      for (const std::string& leaf : leaves) {
        if (!modules.contains(leaf))
          found.add(
              fmt::format("{}.{}.{}", parent, number, leaf), "other experts of the layer have it"
          );
      }
    }
    if (c.identity.experts > 0 && std::ssize(experts) != c.identity.experts)
      found.add(
          parent,
          fmt::format(
              "{} experts are there, config.json speaks of {}", experts.size(), c.identity.experts
          )
      );
  }
}

void experts_are_one_scheme(const CheckContext& c, Findings& found) {
  for (const auto& [parent, experts] : routed_experts(c)) {
    std::map<std::string, const CheckedModule*> firsts;
    for (const auto& [number, modules] : experts) {
      for (const auto& [leaf, module] : modules) {
        const CheckedModule* first = firsts.emplace(leaf, module).first->second;
        if (first->declared.has_value() == module->declared.has_value() &&
            (!first->declared || first->declared->same_scheme(*module->declared)))
          continue;
        found.add(module->name, fmt::format("it is declared differently from {}", first->name));
      }
    }
  }
}

void kv_scales_come_in_pairs(const CheckContext& c, Findings& found) {
  std::map<std::string, std::pair<bool, bool>> layers;  // has k, has v
  for (const CheckedModule& module : c.modules.modules()) {
    const bool k = module.part(Part::kKScale) != nullptr;
    const bool v = module.part(Part::kVScale) != nullptr;
    if (!k && !v) continue;
    // ModelOpt hangs them on the projections, compressed-tensors on the attention layer.
    const bool on_projection = module.role == Role::kAttnK || module.role == Role::kAttnV;
    std::pair<bool, bool>& layer =
        layers[on_projection ? module.name.substr(0, module.name.rfind('.')) : module.name];
    layer.first = layer.first || k;
    layer.second = layer.second || v;
  }
  if (c.files.incomplete || !c.files.unreachable.empty()) return;
  for (const auto& [layer, has] : layers) {
    if (has.first != has.second)
      found.add(layer, fmt::format("it has a scale for {} only", has.first ? "keys" : "values"));
  }
}

bool kv_cache_declared(const CheckContext& c) {
  const auto says = [](const Json* object, std::string_view key) {
    if (object == nullptr) return false;
    const auto it = object->find(key);
    return it != object->end() && !it->is_null();
  };
  return says(c.declared.section(), "kv_cache_scheme") ||
         says(c.declared.section(), "kv_cache_quant_algo") ||
         says(c.declared.file_section(), "kv_cache_quant_algo");
}

bool has_kv_scales(const CheckContext& c) {
  return std::ranges::any_of(c.modules.modules(), [](const CheckedModule& module) {
    return std::ranges::any_of(module.parts, [](const auto& part) {
      return is_kv_scale(part.first);
    });
  });
}

void kv_scales_are_declared(const CheckContext& c, Findings& found) {
  if (has_kv_scales(c) && !kv_cache_declared(c))
    found.add("kv_cache_scheme", "there are scales for the KV cache, but no config speaks of them");
}

void kv_scales_are_there(const CheckContext& c, Findings& found) {
  if (c.files.incomplete || c.files.names.empty() || !c.files.unreachable.empty()) return;
  if (!has_kv_scales(c) && kv_cache_declared(c))
    found.add(
        "kv_cache_scheme", "a quantized KV cache is declared, but there are no scales for it"
    );
}

constexpr CheckLevel kFault = CheckLevel::kFault;
constexpr CheckLevel kWarning = CheckLevel::kWarning;
constexpr CheckNeeds kNothing = CheckNeeds::kNothing;

constexpr Check kChecks[] = {
    {"HQ331",
     kFault,
     kNoEngine,
     kNothing,
     "Members of a fused group have different schemes",
     "quantize all of q, k, v (gate, up; q_a, kv_a) alike, or none",
     fused_groups_are_one_scheme},
    {"HQ332",
     kFault,
     kNoEngine,
     kNothing,
     "Members of a fused group have different numbers of input features",
     "convert the checkpoint again: one of the tensors belongs to another model",
     fused_groups_share_their_input},
    {"HQ333",
     kFault,
     kNoEngine,
     kNothing,
     "Routed experts are incomplete",
     "convert the checkpoint again; every expert has the same projections",
     experts_are_complete},
    {"HQ334",
     kFault,
     kNoEngine,
     kNothing,
     "Experts of a layer have different schemes",
     "quantize all experts of a layer alike: engines keep one scheme for a layer",
     experts_are_one_scheme},
    {"HQ335",
     kFault,
     kNoEngine,
     kNothing,
     "KV cache scales are incomplete",
     "write k_scale and v_scale for every layer, or neither",
     kv_scales_come_in_pairs},
    {"HQ336",
     kWarning,
     kNoEngine,
     kNothing,
     "KV cache scales that no config speaks of",
     "declare kv_cache_quant_algo or kv_cache_scheme; engines drop the scales silently",
     kv_scales_are_declared},
    {"HQ337",
     kWarning,
     kNoEngine,
     kNothing,
     "A quantized KV cache without scales",
     "calibrate the KV cache, or accept that engines use a scale of 1",
     kv_scales_are_there},
};

}  // namespace

std::span<const Check> layer_checks() {
  return kChecks;
}

}  // namespace hone
