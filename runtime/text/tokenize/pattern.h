// The "pattern" of Split and Replace: a literal string or a regular expression.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "core/json/json.h"
#include "runtime/text/regex/regex.h"

namespace hone {

class Pattern {
 public:
  static Pattern literal(std::string text) { return Pattern(std::move(text)); }
  static Pattern regex(std::string_view oniguruma, const std::string& source) {
    return Pattern(Regex::compile(oniguruma, source));
  }
  // {"String": ".."} or {"Regex": ".."}. Throws DataError on anything else.
  static Pattern read(const Json& json, const std::string& source);

  // As Regex::find.
  bool find(std::string_view text, size_t from, RegexScratch& scratch, Regex::Match& match) const;
  // The literal, or null for a regular expression.
  [[nodiscard]] const std::string* text() const { return std::get_if<std::string>(&pattern_); }
  // Every match replaced by `content` as it stands.
  [[nodiscard]] std::string replace_all(
      std::string_view text, std::string_view content, RegexScratch& scratch
  ) const;

 private:
  explicit Pattern(std::variant<std::string, Regex> pattern) : pattern_(std::move(pattern)) {}
  std::variant<std::string, Regex> pattern_;
};

// Walks over the matches of a pattern the way Oniguruma's iterator does: an empty match right after
// the previous match is skipped.
class PatternMatches {
 public:
  PatternMatches(const Pattern& pattern, std::string_view text, RegexScratch& scratch)
      : pattern_(pattern), text_(text), scratch_(scratch) {}
  bool next(Regex::Match& match);

 private:
  const Pattern& pattern_;
  std::string_view text_;
  RegexScratch& scratch_;
  size_t from_ = 0;
  size_t last_end_ = std::string_view::npos;
};

}  // namespace hone
