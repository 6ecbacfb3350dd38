#include "core/io/part_names.h"

#include <algorithm>
#include <iterator>

#include "core/base/error.h"

namespace hone {
namespace {

struct Suffix {
  Part part;
  std::string_view text;
};

constexpr Suffix kSuffixes[] = {
    {Part::kWeight, ".weight"},
    {Part::kPackedWeight, ".weight_packed"},
    {Part::kScale, ".weight_scale"},
    {Part::kScaleInv, ".weight_scale_inv"},
    {Part::kGlobalMultiplier, ".weight_scale_2"},
    {Part::kGlobalDivisor, ".weight_global_scale"},
    {Part::kInputMultiplier, ".input_scale"},
    {Part::kInputDivisor, ".input_global_scale"},
    {Part::kPreQuantScale, ".pre_quant_scale"},
    {Part::kZeroPoint, ".weight_zero_point"},
    {Part::kWeightShape, ".weight_shape"},
    {Part::kBias, ".bias"},
    {Part::kKScale, ".k_scale"},
    {Part::kVScale, ".v_scale"},
    {Part::kQScale, ".q_scale"},
    {Part::kBlocks, "_blocks"},
    {Part::kBlockExponents, "_scales"},
};

}  // namespace

std::string_view part_suffix(Part part) {
  const auto* found = std::ranges::find(kSuffixes, part, &Suffix::part);
  check(found != std::end(kSuffixes), "part {} has no name", static_cast<int>(part));
  return found->text;
}

std::optional<PartName> parse_part(std::string_view tensor) {
  for (const Suffix& suffix : kSuffixes) {
    if (tensor.size() <= suffix.text.size() || !tensor.ends_with(suffix.text)) continue;
    return PartName{std::string(tensor.substr(0, tensor.size() - suffix.text.size())), suffix.part};
  }
  return std::nullopt;
}

bool needs_codes(Part part) {
  switch (part) {
    case Part::kScale:
    case Part::kScaleInv:
    case Part::kGlobalMultiplier:
    case Part::kGlobalDivisor:
    case Part::kInputMultiplier:
    case Part::kInputDivisor:
    case Part::kZeroPoint:
    case Part::kWeightShape:
    case Part::kBlockExponents:
      return true;
    default:
      return false;
  }
}

bool is_kv_scale(Part part) {
  return part == Part::kKScale || part == Part::kVScale || part == Part::kQScale;
}

}  // namespace hone
