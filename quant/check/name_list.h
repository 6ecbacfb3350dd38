// Lists of module names in quantization configs: exclude lists and targets, as their readers match
// them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/json/ecma_regex.h"

namespace hone {

enum class NameStyle : uint8_t {
  // modules_to_not_convert, exclude_modules: `*` and `?` as fnmatch over the whole name or the name
  // of a module above; without them any run of whole components ("gate", "vision_tower").
  kGlob,
  // compressed-tensors: the exact name, or "re:<expression>" that must match from the start on.
  kRegex,
};

class NameList {
 public:
  NameList() = default;
  NameList(NameStyle style, std::vector<std::string> entries);

  [[nodiscard]] const std::vector<std::string>& entries() const { return entries_; }
  // The index of the first entry that matches the module, or -1. Expressions that take too long
  // match nothing.
  [[nodiscard]] int64_t match(std::string_view module) const;
  [[nodiscard]] bool matches(std::string_view module) const { return match(module) >= 0; }
  // "re:" entries that are no regular expressions, with the reason.
  [[nodiscard]] const std::vector<std::string>& mistakes() const { return mistakes_; }

 private:
  struct Pattern {
    size_t index = 0;
    std::string text;
    std::string below;   // the same for what stands below the module
    size_t literal = 0;  // characters before the first wildcard
  };
  struct Expression {
    size_t index = 0;
    std::shared_ptr<const EcmaRegex> regex;
  };
  void offer(int64_t& best, std::string_view name) const;

  NameStyle style_ = NameStyle::kGlob;
  std::vector<std::string> entries_;
  std::unordered_map<std::string, size_t> exact_;
  std::vector<Pattern> patterns_;
  std::vector<Expression> expressions_;
  std::vector<std::string> mistakes_;
};

}  // namespace hone
