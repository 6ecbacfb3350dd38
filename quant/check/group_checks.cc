// HQ24x: the groups of compressed-tensors. Its own parser forbids unknown arguments; engines take
// the first group that claims a module, in orders of their own.
#include <algorithm>
#include <set>

#include "core/base/error.h"
#include "quant/check/check_table.h"

namespace hone {
namespace {

constexpr std::string_view kFormats[] = {
    "dense",
    "int-quantized",
    "float-quantized",
    "naive-quantized",
    "pack-quantized",
    "mixed-precision",
    "nvfp4-pack-quantized",
    "mxfp4-pack-quantized",
    "mxfp8-quantized",
    "sparse-bitmask",
    "sparse-24-bitmask",
    "marlin-24"};

constexpr std::string_view kArguments[] = {
    "num_bits",
    "type",
    "symmetric",
    "group_size",
    "strategy",
    "block_structure",
    "dynamic",
    "actorder",
    "scale_dtype",
    "zp_dtype",
    "observer",
    "observer_kwargs"};

bool grouped(const CheckContext& c) {
  return c.declared.dialect() == QuantDialect::kCompressedTensors;
}

bool known(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

void groups_are_there(const CheckContext& c, Findings& found) {
  if (!grouped(c)) return;
  const bool any = std::ranges::any_of(c.declared.groups(), [](const DeclaredGroup& group) {
    return group.weights != nullptr && !group.targets.empty();
  });
  if (!any) found.add("config_groups", "no group has targets and an object \"weights\"");
}

void formats_are_known(const CheckContext& c, Findings& found) {
  if (!grouped(c)) return;
  const std::string format = string_field(*c.declared.section(), "format");
  if (!known(kFormats, format))
    found.add("format", fmt::format("\"{}\" is none of the library's formats", format));
  for (const DeclaredGroup& group : c.declared.groups()) {
    if (!group.format.empty() && !known(kFormats, group.format))
      found.add(
          "config_groups." + group.name,
          fmt::format("format \"{}\" is none of the library's formats", group.format)
      );
  }
}

// weights and input_activations of every group, with their paths.
std::vector<std::pair<std::string, const Json*>> argument_blocks(const CheckContext& c) {
  std::vector<std::pair<std::string, const Json*>> blocks;
  for (const DeclaredGroup& group : c.declared.groups()) {
    const std::string path = "config_groups." + group.name;
    if (group.weights != nullptr) blocks.emplace_back(path + ".weights", group.weights);
    if (group.activations != nullptr)
      blocks.emplace_back(path + ".input_activations", group.activations);
  }
  return blocks;
}

void arguments_are_known(const CheckContext& c, Findings& found) {
  for (const auto& [path, block] : argument_blocks(c)) {
    for (const auto& [key, value] : block->items()) {
      if (!known(kArguments, key)) found.add(path, fmt::format("\"{}\" is no argument", key));
    }
  }
}

void dynamic_fits_the_strategy(const CheckContext& c, Findings& found) {
  for (const auto& [path, block] : argument_blocks(c)) {
    const std::string strategy = string_field(*block, "strategy");
    const auto dynamic = block->find("dynamic");
    const bool always = dynamic != block->end() && *dynamic == true;
    if (strategy == "token" && !always) found.add(path, "strategy token needs dynamic true");
    if (dynamic != block->end() && *dynamic == "local" && strategy != "tensor_group")
      found.add(path, fmt::format("dynamic \"local\" goes with tensor_group, not {}", strategy));
  }
}

void groups_do_not_compete(const CheckContext& c, Findings& found) {
  if (!grouped(c)) return;
  for (const CheckedModule& module : c.modules.modules()) {
    if (!module.declared) continue;
    const std::vector<const DeclaredGroup*> groups = c.declared.claims(module.name);
    for (const DeclaredGroup* group : groups) {
      if (group->form.same_scheme(groups.front()->form)) continue;
      found.add(
          module.name,
          fmt::format(
              "{} makes it {}, {} makes it {}",
              groups.front()->name,
              form_name(groups.front()->form.form),
              group->name,
              form_name(group->form.form)
          )
      );
      break;
    }
  }
}

void targets_match(const CheckContext& c, Findings& found) {
  if (!grouped(c) || c.files.incomplete || c.files.names.empty()) return;
  for (const DeclaredGroup& group : c.declared.groups()) {
    std::set<int64_t> used;
    for (const CheckedModule& module : c.modules.modules()) {
      used.insert(group.names.match(module.name));
      if (!module.fused_group.empty()) used.insert(group.names.match(module.fused_group + "_proj"));
    }
    for (int64_t i = 0; i < std::ssize(group.names.entries()); ++i) {
      const std::string& target = group.names.entries()[static_cast<size_t>(i)];
      // An entry behind another that matches the same modules first is not looked for again.
      const NameList alone(NameStyle::kRegex, {target});
      if (used.contains(i)) continue;
      const bool hit = std::ranges::any_of(c.modules.modules(), [&](const CheckedModule& module) {
        return alone.matches(module.name);
      });
      if (!hit)
        found.add("config_groups." + group.name, "target \"" + target + "\" matches nothing");
    }
  }
}

void status_is_compressed(const CheckContext& c, Findings& found) {
  if (!grouped(c)) return;
  const std::string status = string_field(*c.declared.section(), "quantization_status");
  if (status != "compressed")
    found.add("quantization_status", fmt::format("it is \"{}\", expected compressed", status));
}

void mixed_groups_have_formats(const CheckContext& c, Findings& found) {
  if (!grouped(c)) return;
  const std::vector<DeclaredGroup>& groups = c.declared.groups();
  const bool mixed = std::ranges::any_of(groups, [&](const DeclaredGroup& group) {
    return !group.form.same_scheme(groups.front().form);
  });
  if (!mixed) return;
  for (const DeclaredGroup& group : groups) {
    if (group.format.empty())
      found.add("config_groups." + group.name, "it has no format of its own, but groups differ");
  }
}

constexpr CheckLevel kFault = CheckLevel::kFault;
constexpr CheckLevel kWarning = CheckLevel::kWarning;
constexpr CheckNeeds kNothing = CheckNeeds::kNothing;

constexpr Check kChecks[] = {
    {"HQ241",
     kFault,
     kNoEngine,
     kNothing,
     "compressed-tensors without a usable group",
     "write config_groups with targets and weights",
     groups_are_there},
    {"HQ242",
     kFault,
     kNoEngine,
     kNothing,
     "A format is unknown to compressed-tensors",
     "use float-quantized, naive-quantized, nvfp4-pack-quantized, mxfp4-pack-quantized or "
     "mxfp8-quantized; mixed-precision at the top when groups differ",
     formats_are_known},
    {"HQ243",
     kFault,
     kNoEngine,
     kNothing,
     "A group has an argument that compressed-tensors forbids",
     "remove the key: its parser refuses the whole config",
     arguments_are_known},
    {"HQ244",
     kFault,
     kNoEngine,
     kNothing,
     "\"dynamic\" does not fit the strategy",
     "token needs dynamic true; \"local\" goes with tensor_group only",
     dynamic_fits_the_strategy},
    {"HQ245",
     kFault,
     kNoEngine,
     kNothing,
     "Two groups claim a module for different schemes",
     "make the targets disjoint: engines try groups in different orders",
     groups_do_not_compete},
    {"HQ246",
     kWarning,
     kNoEngine,
     kNothing,
     "A target of a group matches no module",
     "use the names of the checkpoint; \"re:\" expressions match from the start of the name",
     targets_match},
    {"HQ247",
     kWarning,
     kNoEngine,
     kNothing,
     "quantization_status is not \"compressed\"",
     "set it, so that loaders expect codes and not dense weights",
     status_is_compressed},
    {"HQ248",
     kFault,
     kNoEngine,
     kNothing,
     "Groups of different schemes need a format each",
     "add \"format\" to every group: loaders cannot tell NVFP4 from FP8 by the top one",
     mixed_groups_have_formats},
};

}  // namespace

std::span<const Check> group_checks() {
  return kChecks;
}

}  // namespace hone
