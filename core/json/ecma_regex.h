// Regular expressions of JSON Schema (ECMA-262 with the u flag), matched by PCRE2.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace hone {

// Immutable; matches() may be called from several threads.
class EcmaRegex {
 public:
  // Where ECMA-262 and PCRE2 differ, ECMA-262 counts: ASCII \d \w \b, its own white space in \s, $
  // as the very end, \uXXXX, \p{Letter}. Syntax that only PCRE2 knows (\A, \Z, (?i), possessive
  // quantifiers) is accepted, since many schemas are written for Python. Throws DataError naming
  // the expression and the offset of the mistake.
  explicit EcmaRegex(const std::string& pattern);
  ~EcmaRegex();
  EcmaRegex(const EcmaRegex&) = delete;
  EcmaRegex& operator=(const EcmaRegex&) = delete;

  // Anywhere in `text` (UTF-8; broken UTF-8 matches nothing). Throws DataError when the match takes
  // too long: expressions that explode on hostile text end after a bounded number of steps.
  [[nodiscard]] bool matches(std::string_view text) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Whether `pattern` is a regular expression of ECMA-262 itself (format "regex").
bool is_ecma_regex(const std::string& pattern);

}  // namespace hone
