// Layer selection rules: "pattern=format", the last one that matches decides.
//
// A pattern (select/rule_pattern.h) says which tensors: by name, role, layer, size or regular
// expression. A format is a scheme's name, "scheme" (whatever scheme was asked for) or "keep". The
// built-in defaults stand before the rules, so any rule overrides them; rules of a preset stand
// before the user's.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quant/scheme.h"
#include "quant/select/rule_pattern.h"
#include "runtime/model/schema.h"

namespace hone {

struct Rule {
  std::string text;  // as written, for messages
  RulePattern pattern;
  const Scheme* scheme = nullptr;  // nullptr: keep
  bool asked_scheme = false;       // the scheme that decide() is given
  std::string preset;              // that it comes from; it may match nothing then. Empty: none

  // Throws UsageError naming the rule: no '=', unknown format (lists the known ones), bad pattern.
  static Rule parse(std::string_view text);
  [[nodiscard]] bool matches(const RuleSubject& subject) const { return pattern.matches(subject); }
  // "rule attn.*=keep", "preset mla: attn.*=keep"
  [[nodiscard]] std::string described() const;
};

// What the rules say about one linear weight.
struct RuleDecision {
  const Scheme* scheme = nullptr;  // nullptr: keep
  std::string reason;              // "scheme nvfp4", "rule attn.*=keep", "default: ..."
  const Rule* rule = nullptr;      // the user's rule that decided; nullptr: a default
  // The user named this very module or role (no wildcard), so that leaving it out is an error.
  [[nodiscard]] bool explicit_request() const {
    return rule != nullptr && scheme != nullptr && rule->preset.empty() && rule->pattern.literal();
  }
};

// Why modules of a role stay unquantized unless a rule says otherwise; empty: they are quantized.
// Attention, MLP and expert projections are; embeddings, lm_head, norms, routers, towers, parts of
// linear attention, modulation of diffusion models and modules of unknown role are not. kv_b of
// multi-head latent attention stays at four bits (engines absorb it into other matrices at load).
std::string_view kept_by_default(Role role, bool four_bits);

// The last rule that matches, or else `scheme` (may be nullptr: keep) for roles that are not
// kept_by_default().
RuleDecision decide(std::span<const Rule> rules, const Scheme* scheme, const RuleSubject& subject);

}  // namespace hone
