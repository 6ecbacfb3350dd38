// HQ4xx: what scalars, block scales and codes hold.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/base/error.h"
#include "quant/check/check_table.h"

namespace hone {
namespace {

constexpr Part kScalars[] = {
    Part::kGlobalMultiplier, Part::kGlobalDivisor, Part::kInputMultiplier, Part::kInputDivisor};
constexpr Part kBlockScales[] = {Part::kScale, Part::kScaleInv, Part::kBlockExponents};

// Value of a scalar part of a module that is stored as the config says.
std::optional<float> value_of(const CheckedModule& module, Part part) {
  const SnapshotTensor* tensor = module.part(part);
  return tensor == nullptr ? std::nullopt : tensor->scalar();
}

template <typename Judge>
void each_scalar(const CheckContext& c, Judge judge) {
  for (const CheckedModule& module : c.modules.modules()) {
    if (!module.consistent()) continue;
    for (const Part part : kScalars) {
      if (const auto value = value_of(module, part)) judge(module, part, *value);
    }
    // The one scale of a tensor is a scalar too.
    if (module.declared->form != StoredForm::kFp8Tensor) continue;
    if (const auto value = value_of(module, Part::kScale)) judge(module, Part::kScale, *value);
  }
}

void scalars_are_finite(const CheckContext& c, Findings& found) {
  each_scalar(c, [&](const CheckedModule& module, Part part, float value) {
    if (!std::isfinite(value))
      found.add(module.tensor(part), fmt::format("it is {}, expected a finite number", value));
  });
}

void scalars_are_positive(const CheckContext& c, Findings& found) {
  each_scalar(c, [&](const CheckedModule& module, Part part, float value) {
    if (std::isfinite(value) && value <= 0)
      found.add(module.tensor(part), fmt::format("it is {}, expected a positive number", value));
  });
}

void directions_are_plausible(const CheckContext& c, Findings& found) {
  each_scalar(c, [&](const CheckedModule& module, Part part, float value) {
    if (module.declared->form != StoredForm::kNvfp4 || !std::isfinite(value) || value <= 0) return;
    const bool divisor = part == Part::kGlobalDivisor || part == Part::kInputDivisor;
    // amax / 2688 or its reciprocal: beyond 1 the largest value would be above 2688.
    if (divisor ? value >= 1 : value <= 1) return;
    found.add(
        module.tensor(part),
        fmt::format(
            "it is {}, which as a {} means values up to {:.4g}",
            value,
            divisor ? "divisor" : "multiplier",
            2688.0 * (divisor ? 1.0 / value : value)
        )
    );
  });
}

bool same_bits(float a, float b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

bool sound(std::optional<float> value) {
  return value && std::isfinite(*value) && *value > 0;
}

// First member of each group whose part differs from that of the first member.
void compare_members(const CheckContext& c, StoredForm form, Part part, Findings& found) {
  for (const auto& [group, members] : c.modules.groups()) {
    const CheckedModule* first = nullptr;
    for (const CheckedModule* member : members) {
      if (!member->consistent() || member->declared->form != form) continue;
      const std::optional<float> value = value_of(*member, part);
      if (!sound(value)) continue;  // named by HQ401 and HQ402
      if (first == nullptr) {
        first = member;
        continue;
      }
      const float expected = *value_of(*first, part);
      if (same_bits(expected, *value)) continue;
      found.add(
          member->tensor(part),
          fmt::format("it is {}, that of {} is {}", *value, first->name, expected)
      );
      break;
    }
  }
}

void fused_global_scales_are_equal(const CheckContext& c, Findings& found) {
  compare_members(c, StoredForm::kNvfp4, Part::kGlobalMultiplier, found);
  compare_members(c, StoredForm::kNvfp4, Part::kGlobalDivisor, found);
}

void fused_input_scales_are_equal(const CheckContext& c, Findings& found) {
  compare_members(c, StoredForm::kNvfp4, Part::kInputMultiplier, found);
  compare_members(c, StoredForm::kNvfp4, Part::kInputDivisor, found);
}

void fused_tensor_scales_are_equal(const CheckContext& c, Findings& found) {
  compare_members(c, StoredForm::kFp8Tensor, Part::kScale, found);
  compare_members(c, StoredForm::kFp8Tensor, Part::kInputMultiplier, found);
}

template <typename Judge>
void each_kv_scale(const CheckContext& c, Judge judge) {
  for (const CheckedModule& module : c.modules.modules()) {
    for (const auto& [part, tensor] : module.parts) {
      if (!is_kv_scale(part)) continue;
      if (const auto value = tensor->scalar()) judge(module.tensor(part), *value);
    }
  }
}

void kv_scales_are_usable(const CheckContext& c, Findings& found) {
  each_kv_scale(c, [&](const std::string& tensor, float value) {
    if (!std::isfinite(value) || value <= 0)
      found.add(tensor, fmt::format("it is {}, expected a positive finite number", value));
  });
}

void kv_scales_are_plausible(const CheckContext& c, Findings& found) {
  each_kv_scale(c, [&](const std::string& tensor, float value) {
    if (std::isfinite(value) && value > 0.5F && value != 1.0F)
      found.add(tensor, fmt::format("it is {}: keys or values up to {:.4g}", value, 448.0 * value));
  });
}

// judge(module, part, tensor, contents) for the block scales that were read.
template <typename Judge>
void each_block_scale(const CheckContext& c, Judge judge) {
  for (const CheckedModule& module : c.modules.modules()) {
    if (!module.consistent()) continue;
    for (const Part part : kBlockScales) {
      const SnapshotTensor* tensor = module.part(part);
      if (tensor == nullptr) continue;
      if (part == Part::kScale && module.declared->form == StoredForm::kFp8Tensor) continue;
      if (const TensorContents* contents = c.contents.find(tensor->entry->name))
        judge(module, part, *tensor, *contents);
    }
  }
}

// "[3, 17]"
std::string position(const SnapshotTensor& tensor, int64_t index) {
  std::string text;
  const std::vector<int64_t>& dims = tensor.entry->shape.dims();
  for (size_t i = dims.size(); i-- > 0;) {
    text = std::to_string(index % dims[i]) + (text.empty() ? "" : ", " + text);
    index /= dims[i];
  }
  return "[" + text + "]";
}

void block_scales_are_finite(const CheckContext& c, Findings& found) {
  each_block_scale(
      c,
      [&](const CheckedModule& module, Part part, const SnapshotTensor& tensor, const auto& read) {
        if (read.first_nan >= 0)
          found.add(
              module.tensor(part),
              fmt::format("element {} is NaN or infinite", position(tensor, read.first_nan))
          );
      }
  );
}

void block_scales_are_not_negative(const CheckContext& c, Findings& found) {
  each_block_scale(
      c,
      [&](const CheckedModule& module, Part part, const SnapshotTensor& tensor, const auto& read) {
        if (read.first_negative >= 0)
          found.add(
              module.tensor(part),
              fmt::format("element {} is negative", position(tensor, read.first_negative))
          );
      }
  );
}

void block_scales_are_not_zero(const CheckContext& c, Findings& found) {
  each_block_scale(
      c,
      [&](const CheckedModule& module, Part part, const SnapshotTensor& tensor, const auto& read) {
        if (read.first_zero >= 0)
          found.add(
              module.tensor(part),
              fmt::format("element {} is zero", position(tensor, read.first_zero))
          );
      }
  );
}

void promised_powers_of_two_are(const CheckContext& c, Findings& found) {
  if (c.declared.dialect() != QuantDialect::kFp8 ||
      string_field(*c.declared.section(), "scale_fmt") != "ue8m0")
    return;
  each_block_scale(
      c,
      [&](const CheckedModule& module, Part part, const SnapshotTensor& tensor, const auto& read) {
        if (part == Part::kScaleInv && read.first_not_power_of_two >= 0)
          found.add(
              module.tensor(part),
              fmt::format(
                  "element {} is no power of two", position(tensor, read.first_not_power_of_two)
              )
          );
      }
  );
}

void weights_are_finite(const CheckContext& c, Findings& found) {
  for (const std::string& name : c.files.names) {
    const TensorContents* contents = c.contents.find(name);
    const std::optional<PartName> part = parse_part(name);
    const bool scale = part && (needs_codes(part->part) || is_kv_scale(part->part));
    if (contents == nullptr || scale || contents->first_nan < 0) continue;
    found.add(
        name,
        fmt::format(
            "element {} is NaN or infinite", position(*c.files.find(name), contents->first_nan)
        )
    );
  }
}

void weights_are_not_all_zero(const CheckContext& c, Findings& found) {
  for (const CheckedModule& module : c.modules.modules()) {
    const SnapshotTensor* weight = module.weight();
    if (weight == nullptr || module.rows == 0) continue;
    const TensorContents* contents = c.contents.find(weight->entry->name);
    if (contents != nullptr && contents->all_zero) found.add(module.name, "every weight is zero");
  }
}

constexpr CheckLevel kFault = CheckLevel::kFault;
constexpr CheckLevel kWarning = CheckLevel::kWarning;
constexpr CheckNeeds kNothing = CheckNeeds::kNothing;
constexpr CheckNeeds kScales = CheckNeeds::kScales;
constexpr CheckNeeds kCodes = CheckNeeds::kCodes;

constexpr Check kChecks[] = {
    {"HQ401",
     kFault,
     kNoEngine,
     kNothing,
     "A global or input scale is NaN or infinite",
     "convert the module again; near-zero weights need a fallback of 1, not a division by zero",
     scalars_are_finite},
    {"HQ402",
     kFault,
     kNoEngine,
     kNothing,
     "A global or input scale is zero or negative",
     "convert the module again; readers that invert it would get infinity",
     scalars_are_positive},
    {"HQ403",
     kFault,
     kNoEngine,
     kNothing,
     "Members of a fused group have different global scales",
     "quantize the group again with one amax: engines keep one scale for the fused matrix",
     fused_global_scales_are_equal},
    {"HQ404",
     kFault,
     kNoEngine,
     kNothing,
     "Members of a fused group have different input scales",
     "write the largest (as a divisor the smallest) for all: they read the same input",
     fused_input_scales_are_equal},
    {"HQ405",
     kWarning,
     kNoEngine,
     kNothing,
     "Members of a fused group have different FP8 tensor scales",
     "share one scale: engines requantize all members to the largest, which rounds twice",
     fused_tensor_scales_are_equal},
    {"HQ406",
     kWarning,
     kNoEngine,
     kNothing,
     "A scale looks inverted",
     "ModelOpt stores multipliers, compressed-tensors divisors: convert by taking reciprocals",
     directions_are_plausible},
    {"HQ407",
     kFault,
     kNoEngine,
     kNothing,
     "A KV cache scale is not a positive finite number",
     "calibrate the KV cache again",
     kv_scales_are_usable},
    {"HQ408",
     kWarning,
     kNoEngine,
     kNothing,
     "A KV cache scale is unusually large",
     "look at the calibration: one outlier may cost all other values their precision",
     kv_scales_are_plausible},
    {"HQ411",
     kFault,
     kNoEngine,
     kScales,
     "Block scales hold NaN or infinity",
     "quantize again with a writer that clamps before it casts to FP8",
     block_scales_are_finite},
    {"HQ412",
     kFault,
     kNoEngine,
     kScales,
     "Block scales are negative",
     "quantize again: kernels ignore or mistake the sign",
     block_scales_are_not_negative},
    {"HQ413",
     kWarning,
     kNoEngine,
     kScales,
     "Block scales are zero",
     "keep scales at or above the smallest value: a whole block becomes zero",
     block_scales_are_not_zero},
    {"HQ414",
     kFault,
     kNoEngine,
     kScales,
     "scale_fmt promises powers of two, but the scales are others",
     "remove scale_fmt, or quantize again with power-of-two scales",
     promised_powers_of_two_are},
    {"HQ421",
     kFault,
     kNoEngine,
     kCodes,
     "Weights hold NaN or infinity",
     "quantize again with a writer that clamps before it casts; look at the source's weights",
     weights_are_finite},
    {"HQ422",
     kWarning,
     kNoEngine,
     kCodes,
     "A weight matrix is all zero",
     "compare with the source: the tensor may never have been written",
     weights_are_not_all_zero},
};

}  // namespace

std::span<const Check> value_checks() {
  return kChecks;
}

}  // namespace hone
