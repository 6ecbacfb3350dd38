#include "eval/report/html_text.h"

#include <algorithm>

namespace hone {
namespace {

bool continues_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

std::string mark_from(std::string_view text, size_t at) {
  std::string out = escape_html(text.substr(0, at));
  if (at < text.size()) out += "<mark>" + escape_html(text.substr(at)) + "</mark>";
  return out;
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      case '\t':
      case '\n':
        out += c;
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
          out += "\xEF\xBF\xBD";
        else
          out += c;
    }
  }
  return out;
}

std::string escape_script_json(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  }
  return out;
}

MarkedPair mark_difference(std::string_view left, std::string_view right) {
  const auto parted = std::mismatch(left.begin(), left.end(), right.begin(), right.end());
  auto at = static_cast<size_t>(parted.first - left.begin());
  while (at > 0 && ((at < left.size() && continues_character(left[at])) ||
                    (at < right.size() && continues_character(right[at]))))
    --at;
  return {mark_from(left, at), mark_from(right, at)};
}

}  // namespace hone
