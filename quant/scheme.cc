#include "quant/scheme.h"

#include "core/base/error.h"

namespace hone {
namespace {

constexpr Scheme kSchemes[] = {
    {"fp8-block", Format::kBlockFp8, ActivationRule::kFp8Group128, "fp8"},
    {"nvfp4", Format::kNvfp4, ActivationRule::kNvfp4, "modelopt"},
    {"nvfp4a16", Format::kNvfp4, ActivationRule::kNone, "modelopt"},
    {"fp8-tensor", Format::kFp8Tensor, ActivationRule::kFp8Tensor, "modelopt"},
    {"fp8-channel", Format::kFp8Channel, ActivationRule::kNone, "compressed-tensors"},
    {"fp8-dynamic", Format::kFp8Channel, ActivationRule::kFp8Token, "compressed-tensors"},
    {"mxfp4", Format::kMxfp4, ActivationRule::kMxfp4, "compressed-tensors"},
    {"mxfp4a16", Format::kMxfp4, ActivationRule::kNone, "compressed-tensors"},
    {"mxfp8", Format::kMxfp8, ActivationRule::kMxfp8, "compressed-tensors"},
};

}  // namespace

std::span<const Scheme> schemes() {
  return kSchemes;
}

const Scheme* find_scheme(std::string_view name) {
  for (const Scheme& scheme : kSchemes) {
    if (scheme.name == name) return &scheme;
  }
  return nullptr;
}

const Scheme& scheme_by_name(std::string_view name) {
  const Scheme* scheme = find_scheme(name);
  require(scheme != nullptr, "unknown scheme \"{}\"; known: {}", name, scheme_names());
  return *scheme;
}

std::string scheme_names() {
  std::string names;
  for (const Scheme& scheme : kSchemes) {
    if (!names.empty()) names += ", ";
    names += scheme.name;
  }
  return names;
}

ScaleKind parse_scale_kind(std::string_view name) {
  if (name == "f32") return ScaleKind::kF32;
  require(name == "ue8m0", "unknown scale kind \"{}\"; known: f32, ue8m0", name);
  return ScaleKind::kUe8m0;
}

}  // namespace hone
