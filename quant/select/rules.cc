#include "quant/select/rules.h"

#include "core/base/error.h"

namespace hone {
namespace {

constexpr std::string_view kKeep = "keep";
constexpr std::string_view kAskedScheme = "scheme";

bool is_fp4(Format format) {
  return format == Format::kNvfp4 || format == Format::kMxfp4;
}

}  // namespace

std::string_view kept_by_default(Role role, bool four_bits) {
  switch (role) {
    case Role::kEmbedding:
      return "embeddings stay";
    case Role::kLmHead:
      return "lm_head stays";
    case Role::kNorm:
      return "norms stay";
    case Role::kMoeRouter:
      return "routers stay";
    case Role::kVision:
      return "vision parts stay";
    case Role::kAudio:
      return "audio parts stay";
    case Role::kAttnSinks:
      return "attention sinks stay";
    case Role::kAttnIndexer:
      return "indexers of sparse attention stay";
    case Role::kLinearAttn:
      return "parts of linear attention stay";
    case Role::kMoeLatent:
      return "projections of the experts' latent space stay";
    case Role::kResidual:
      return "residual scores stay";
    case Role::kMtp:
      return "the input projection of prediction layers stays";
    case Role::kPosition:
      return "position tables stay";
    case Role::kModulation:
      return "modulation layers stay";
    case Role::kCondition:
      return "embedders of patches, text and time stay";
    case Role::kProjectOut:
      return "the projection back to patches stays";
    case Role::kOther:
      return "unknown role stays";
    case Role::kAttnKvB:
      return four_bits ? "engines absorb kv_b into other matrices" : "";
    default:
      return "";
  }
}

Rule Rule::parse(std::string_view text) {
  const size_t equals = text.rfind('=');
  require(
      equals != std::string_view::npos,
      "rule \"{}\": expected pattern=format, for instance attn.*=keep",
      text
  );
  const std::string_view format = text.substr(equals + 1);
  Rule rule{
      .text = std::string(text),
      .pattern = RulePattern(text.substr(0, equals)),
      .scheme = find_scheme(format),
      .asked_scheme = format == kAskedScheme,
      .preset = {}};
  require(
      rule.scheme != nullptr || rule.asked_scheme || format == kKeep,
      "rule \"{}\": unknown format \"{}\"; known: {}, {}, {}",
      text,
      format,
      scheme_names(),
      kKeep,
      kAskedScheme
  );
  return rule;
}

std::string Rule::described() const {
  return preset.empty() ? "rule " + text : fmt::format("preset {}: {}", preset, text);
}

RuleDecision decide(std::span<const Rule> rules, const Scheme* scheme, const RuleSubject& subject) {
  for (size_t i = rules.size(); i-- > 0;) {
    const Rule& rule = rules[i];
    if (rule.matches(subject))
      return {rule.asked_scheme ? scheme : rule.scheme, rule.described(), &rule};
  }
  const bool four_bits = scheme != nullptr && is_fp4(scheme->format);
  const std::string_view kept = kept_by_default(subject.role, four_bits);
  if (!kept.empty()) return {nullptr, "default: " + std::string(kept), nullptr};
  if (scheme == nullptr) return {nullptr, "default: no scheme", nullptr};
  return {scheme, "scheme " + std::string(scheme->name), nullptr};
}

}  // namespace hone
