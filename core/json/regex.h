// ECMA-262 regular expressions of JSON Schema, matched by PCRE2.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace hone {

// Immutable; matches() may be called from several threads.
class Regex {
 public:
  // Throws DataError naming the expression and the offset of the mistake.
  explicit Regex(const std::string& pattern);
  ~Regex();
  Regex(const Regex&) = delete;
  Regex& operator=(const Regex&) = delete;

  // Anywhere in `text` (UTF-8). Throws DataError when the match limit is exceeded.
  [[nodiscard]] bool matches(std::string_view text) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hone
