#include "runtime/text/tokenize/pattern.h"

#include "core/base/error.h"
#include "runtime/text/unicode/utf8.h"

namespace hone {

Pattern Pattern::read(const Json& json, const std::string& source) {
  require_data(
      json.is_object() && json.size() == 1 && json.begin()->is_string(),
      "{}: \"pattern\" must be {{\"String\": ..}} or {{\"Regex\": ..}}, found {}",
      source,
      dump_json(json)
  );
  const auto& value = json.begin()->get_ref<const std::string&>();
  if (json.begin().key() == "String") return literal(value);
  require_data(
      json.begin().key() == "Regex",
      "{}: pattern kind \"{}\" is not known (String, Regex)",
      source,
      json.begin().key()
  );
  return regex(value, source);
}

bool Pattern::find(std::string_view text, size_t from, RegexScratch& scratch, Regex::Match& match)
    const {
  if (const auto* regex = std::get_if<Regex>(&pattern_)) {
    return regex->find(text, from, scratch, match);
  }
  const auto& literal = std::get<std::string>(pattern_);
  if (literal.empty()) return false;
  const size_t at = text.find(literal, from);
  if (at == std::string_view::npos) return false;
  match = {at, at + literal.size()};
  return true;
}

std::string Pattern::replace_all(
    std::string_view text, std::string_view content, RegexScratch& scratch
) const {
  std::string out;
  size_t done = 0;
  PatternMatches matches(*this, text, scratch);
  for (Regex::Match match; matches.next(match);) {
    out.append(text, done, match.begin - done);
    out += content;
    done = match.end;
  }
  out.append(text, done);
  return out;
}

bool PatternMatches::next(Regex::Match& match) {
  while (from_ <= text_.size()) {
    if (!pattern_.find(text_, from_, scratch_, match)) break;
    const bool empty = match.begin == match.end;
    if (!empty) {
      from_ = match.end;
    } else {
      from_ = match.end < text_.size() ? match.end + utf8_size(text_[match.end]) : match.end + 1;
      if (match.end == last_end_) continue;
    }
    last_end_ = match.end;
    return true;
  }
  from_ = text_.size() + 1;
  return false;
}

}  // namespace hone
