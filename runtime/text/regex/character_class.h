// Character sets of the Oniguruma dialect, written as PCRE2 expressions that match one character.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hone {

// A set of characters: (body united with the nested sets), intersected with each of `also`, then
// complemented when `negated`.
struct CharacterSet {
  std::string body;  // items of a PCRE2 bracket expression: "a-z\\p{L}"
  std::vector<CharacterSet> nested;
  std::vector<CharacterSet> also;
  bool negated = false;

  // A PCRE2 expression that matches exactly one character of the set.
  [[nodiscard]] std::string pcre() const;
};

// \s, \w, \d, \h (lower case letter given), and their complements.
CharacterSet shorthand_set(char letter);

// A property name as in \p{name}, without a leading '^'. Unknown names go to PCRE2 as they are,
// which then reports them.
CharacterSet property_set(std::string_view name);

// [:name:]; an empty body when the name is not known.
CharacterSet posix_set(std::string_view name);

// One literal character as an item of a bracket expression.
std::string class_literal(char32_t c);

}  // namespace hone
