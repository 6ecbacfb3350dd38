#include "runtime/text/jinja/string_case.h"

#include "runtime/text/unicode/utf8.h"

namespace hone::jinja {
namespace {

bool is_line_end(char32_t c) {
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 ||
         c == 0x2029;
}

}  // namespace

Text recased(const Text& text, std::string bytes) {
  Text out;
  out.append(std::string_view(bytes), text.has_input());
  out.safe = text.safe;
  return out;
}

Text upper_case(const Text& text) {
  return recased(text, utf8_upper(text.bytes));
}

Text lower_case(const Text& text) {
  return recased(text, utf8_lower(text.bytes));
}

Text capitalized(const Text& text) {
  std::string out;
  for (size_t at = 0; at < text.bytes.size();) {
    const CodePoint c = utf8_decode(text.bytes, at);
    if (at == 0) {
      utf8_append_upper(out, c.value);
    } else {
      utf8_append_lower(out, c.value);
    }
    at += c.size;
  }
  return recased(text, std::move(out));
}

Text html_escaped(const Text& text) {
  Text out;
  size_t done = 0;
  for (size_t at = 0; at < text.bytes.size(); ++at) {
    const char c = text.bytes[at];
    const std::string_view entity = c == '&'    ? "&amp;"
                                    : c == '<'  ? "&lt;"
                                    : c == '>'  ? "&gt;"
                                    : c == '"'  ? "&#34;"
                                    : c == '\'' ? "&#39;"
                                                : "";
    if (entity.empty()) continue;
    out.append_slice(text, done, at);
    out.append(entity, text.has_input());
    done = at + 1;
  }
  out.append_slice(text, done, text.bytes.size());
  out.safe = true;
  return out;
}

std::vector<std::pair<size_t, size_t>> line_bounds(std::string_view text) {
  std::vector<std::pair<size_t, size_t>> out;
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = utf8_decode(text, at);
    const size_t end = at;
    at += c.size;
    if (!is_line_end(c.value)) continue;
    if (c.value == '\r' && at < text.size() && text[at] == '\n') ++at;
    out.emplace_back(begin, end);
    begin = at;
  }
  if (begin < text.size()) out.emplace_back(begin, text.size());
  return out;
}

}  // namespace hone::jinja
