// Presets: selection rules for a kind of model, as YAML in recipes/library/presets.
//
//   name: moe-experts
//   about: Routed experts only; attention, dense layers and shared experts stay.
//   scheme: nvfp4a16          # when none is asked for; may be missing
//   rules:                    # quant/select/rules.h; the last one that matches decides
//     - "*=keep"
//     - "moe.*=scheme"
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "quant/select/rules.h"

namespace hone {

struct Preset {
  std::string name;
  std::string about;
  std::string scheme;  // empty: none
  std::vector<Rule> rules;

  // Throws UsageError "<path>:<line>: ..." for broken YAML, unknown or missing keys, a name that is
  // not the file's, an unknown scheme, and rules that do not parse.
  static Preset load(const std::filesystem::path& path);
};

}  // namespace hone
