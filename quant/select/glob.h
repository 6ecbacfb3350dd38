// Globs over names with dots in them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hone {

// `*` any run of characters (dots included), `?` one character, `[a-c]` and `[!a-c]` sets,
// `{a,b}` alternatives, `{0..5}` numbers; the whole name must match. Case-sensitive.
class Glob {
 public:
  // Throws UsageError naming `pattern` when it is empty, a bracket is left open, or its braces
  // stand for more than 10,000 patterns.
  explicit Glob(std::string pattern);

  [[nodiscard]] bool matches(std::string_view name) const;
  [[nodiscard]] const std::string& pattern() const { return pattern_; }
  // No `*`, `?` or `[`: it can only mean the names that it spells out.
  [[nodiscard]] bool literal() const { return literal_; }

 private:
  std::string pattern_;
  std::vector<std::string> alternatives_;  // without braces
  bool literal_ = true;
};

}  // namespace hone
