#include "quant/select/rules.h"

#include "core/base/error.h"

namespace hone {
namespace {

constexpr std::string_view kKeep = "keep";

bool is_fp4(Format format) {
  return format == Format::kNvfp4 || format == Format::kMxfp4;
}

// Why a role stays by default; empty: the scheme applies.
std::string_view kept_by_default(Role role, const Scheme* scheme) {
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
    case Role::kOther:
      return "unknown role stays";
    case Role::kAttnKvB:
      return scheme != nullptr && is_fp4(scheme->format) ? "engines absorb kv_b into other matrices"
                                                         : "";
    default:
      return "";
  }
}

}  // namespace

Rule Rule::parse(std::string_view text) {
  const size_t equals = text.rfind('=');
  require(
      equals != std::string_view::npos,
      "rule \"{}\": expected pattern=format, for instance attn.*=keep",
      text
  );
  const std::string_view format = text.substr(equals + 1);
  Rule rule{std::string(text), Glob(std::string(text.substr(0, equals))), find_scheme(format)};
  require(
      rule.scheme != nullptr || format == kKeep,
      "rule \"{}\": unknown format \"{}\"; known: {}, {}",
      text,
      format,
      scheme_names(),
      kKeep
  );
  return rule;
}

bool Rule::matches(Role role, std::string_view module, std::string_view tensor) const {
  return pattern.matches(role_name(role)) || pattern.matches(tensor) ||
         (!module.empty() && pattern.matches(module));
}

RuleDecision decide(
    std::span<const Rule> rules,
    const Scheme* scheme,
    Role role,
    std::string_view module,
    std::string_view tensor
) {
  for (size_t i = rules.size(); i-- > 0;) {
    if (rules[i].matches(role, module, tensor))
      return {rules[i].scheme, "rule " + rules[i].text, &rules[i]};
  }
  const std::string_view kept = kept_by_default(role, scheme);
  if (!kept.empty()) return {nullptr, "default: " + std::string(kept), nullptr};
  if (scheme == nullptr) return {nullptr, "default: no scheme", nullptr};
  return {scheme, "scheme " + std::string(scheme->name), nullptr};
}

}  // namespace hone
