// ECMA-262 regular expressions of JSON Schema, matched by PCRE2.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace hone {

// Immutable; matches() may be called from several threads.
class EcmaRegex {
 public:
  // Throws DataError naming the expression and the offset of the mistake.
  explicit EcmaRegex(const std::string& pattern);
  ~EcmaRegex();
  EcmaRegex(const EcmaRegex&) = delete;
  EcmaRegex& operator=(const EcmaRegex&) = delete;

  // Anywhere in `text` (UTF-8). Throws DataError when the match limit is exceeded.
  [[nodiscard]] bool matches(std::string_view text) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hone
