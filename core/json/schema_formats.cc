#include "core/json/schema_formats.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "core/json/ecma_regex.h"

namespace hone {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
bool is_ascii(char c) {
  return static_cast<unsigned char>(c) < 0x80;
}

bool one_of(char c, std::string_view set) {
  return set.find(c) != std::string_view::npos;
}

bool starts_digit(std::string_view text) {
  return !text.empty() && is_digit(text.front());
}

// Exactly `count` digits at `at` as a number; -1 otherwise.
int digits(std::string_view text, size_t at, size_t count) {
  if (at + count > text.size()) return -1;
  int value = 0;
  for (size_t i = at; i < at + count; ++i) {
    if (!is_digit(text[i])) return -1;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

bool is_date(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  const int year = digits(text, 0, 4);
  const int month = digits(text, 5, 2);
  const int day = digits(text, 8, 2);
  if (year < 0 || month < 1 || month > 12 || day < 1) return false;
  constexpr std::array<int, 12> kDays{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return day <= kDays[static_cast<size_t>(month - 1)] + (month == 2 && leap ? 1 : 0);
}

bool is_time(std::string_view text) {
  if (text.size() < 9 || text[2] != ':' || text[5] != ':') return false;
  const int hour = digits(text, 0, 2);
  const int minute = digits(text, 3, 2);
  const int second = digits(text, 6, 2);
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60) return false;
  std::string_view zone = text.substr(8);
  if (zone.starts_with('.')) {
    zone.remove_prefix(1);
    if (!starts_digit(zone)) return false;
    while (starts_digit(zone)) zone.remove_prefix(1);
  }
  int offset = 0;
  if (zone != "Z" && zone != "z") {
    if (zone.size() != 6 || (zone[0] != '+' && zone[0] != '-') || zone[3] != ':') return false;
    const int hours = digits(zone, 1, 2);
    const int minutes = digits(zone, 4, 2);
    if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return false;
    offset = (hours * 60 + minutes) * (zone[0] == '-' ? -1 : 1);
  }
  // Leap seconds come at 23:59:60 UTC.
  return second < 60 || ((hour * 60 + minute - offset) % 1440 + 1440) % 1440 == 1439;
}

bool is_date_time(std::string_view text) {
  return text.size() > 11 && (text[10] == 'T' || text[10] == 't') && is_date(text.substr(0, 10)) &&
         is_time(text.substr(11));
}

// Numbers, each with one of `units`, in their order and without gaps for years to days and hours to
// seconds (RFC 3339 appendix A).
bool take_units(std::string_view& text, std::string_view units) {
  size_t unit = 0;
  bool any = false;
  while (starts_digit(text)) {
    while (starts_digit(text)) text.remove_prefix(1);
    if (text.empty()) return false;
    const size_t found = units.find(text.front());
    if (found == std::string_view::npos) return false;
    if (any ? found != unit : found < unit) return false;
    unit = found + 1;
    any = true;
    text.remove_prefix(1);
  }
  return any;
}

bool is_duration(std::string_view text) {
  if (!text.starts_with('P')) return false;
  text.remove_prefix(1);
  if (text.ends_with('W')) {
    text.remove_suffix(1);
    return !text.empty() && std::ranges::all_of(text, is_digit);
  }
  if (text.empty()) return false;
  if (!text.starts_with('T') && !take_units(text, "YMD")) return false;
  if (text.empty()) return true;
  if (!text.starts_with('T')) return false;
  text.remove_prefix(1);
  return take_units(text, "HMS") && text.empty();
}

bool is_ipv4(std::string_view text) {
  for (int part = 0; part < 4; ++part) {
    size_t length = 0;
    int value = 0;
    while (length < text.size() && is_digit(text[length]) && length < 4) {
      value = value * 10 + (text[length++] - '0');
    }
    // A leading zero could be read as octal.
    if (length == 0 || length > 3 || value > 255 || (length > 1 && text[0] == '0')) return false;
    text.remove_prefix(length);
    if (part == 3) return text.empty();
    if (!text.starts_with('.')) return false;
    text.remove_prefix(1);
  }
  return false;
}

bool is_ipv6(std::string_view text) {
  int groups = 0;
  bool gap = false;
  if (text.starts_with("::")) {
    gap = true;
    text.remove_prefix(2);
  }
  while (!text.empty()) {
    const size_t length = std::min(text.find(':'), text.size());
    const std::string_view group = text.substr(0, length);
    if (length == text.size() && group.find('.') != std::string_view::npos) {
      if (!is_ipv4(group)) return false;
      groups += 2;
      break;
    }
    if (length == 0 || length > 4 || !std::ranges::all_of(group, is_hex)) return false;
    ++groups;
    text.remove_prefix(length);
    if (text.empty()) break;
    text.remove_prefix(1);
    if (text.starts_with(':')) {
      if (gap) return false;
      gap = true;
      text.remove_prefix(1);
    } else if (text.empty()) {
      return false;
    }
  }
  return gap ? groups < 8 : groups == 8;
}

// RFC 1123; A-labels ("xn--") are not decoded.
bool is_hostname(std::string_view text) {
  if (text.empty() || text.size() > 253) return false;
  while (true) {
    const size_t length = std::min(text.find('.'), text.size());
    const std::string_view label = text.substr(0, length);
    if (label.empty() || label.size() > 63 || label.front() == '-' || label.back() == '-') {
      return false;
    }
    if (!std::ranges::all_of(label, [](char c) {
          return is_letter(c) || is_digit(c) || c == '-';
        })) {
      return false;
    }
    // Positions 3 and 4 "--" are reserved for A-labels (RFC 5890).
    if (label.size() > 3 && label.substr(2, 2) == "--" && label.substr(0, 2) != "xn" &&
        label.substr(0, 2) != "XN") {
      return false;
    }
    if (length == text.size()) return true;
    text.remove_prefix(length + 1);
  }
}

bool is_atext(char c) {
  return is_letter(c) || is_digit(c) || one_of(c, "!#$%&'*+-/=?^_`{|}~");
}

bool is_dot_atom(std::string_view text, bool international) {
  if (text.empty() || text.front() == '.' || text.back() == '.') return false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '.') {
      if (text[i + 1] == '.') return false;
    } else if (!is_atext(text[i]) && !(international && !is_ascii(text[i]))) {
      return false;
    }
  }
  return true;
}

bool is_quoted_string(std::string_view text, bool international) {
  if (text.size() < 2 || text.front() != '"' || text.back() != '"') return false;
  text = text.substr(1, text.size() - 2);
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == '\\') {
      if (++i == text.size()) return false;
    } else if (c < 0x20 || c == '"' || c == 0x7f || (c > 0x7f && !international)) {
      return false;
    }
  }
  return true;
}

bool is_mailbox(std::string_view text, bool international) {
  const size_t at = text.rfind('@');
  if (at == std::string_view::npos || at > 64) return false;
  const std::string_view local = text.substr(0, at);
  std::string_view domain = text.substr(at + 1);
  if (!is_dot_atom(local, international) && !is_quoted_string(local, international)) return false;
  if (domain.starts_with('[') && domain.ends_with(']')) {
    domain = domain.substr(1, domain.size() - 2);
    if (domain.starts_with("IPv6:")) return is_ipv6(domain.substr(5));
    return is_ipv4(domain);
  }
  if (is_hostname(domain)) return true;
  return international && !std::ranges::all_of(domain, is_ascii) && is_dot_atom(domain, true);
}

// Which characters stand for themselves in a URI; IRIs allow all beyond ASCII.
class UriParser {
 public:
  UriParser(std::string_view text, bool international)
      : text_(text), international_(international) {}

  bool uri() { return scheme() && rest(); }

  bool reference() {
    UriParser whole(text_, international_);
    if (whole.uri()) return true;
    // A first segment with a colon would be a scheme.
    const size_t end = std::min(text_.find_first_of("/?#"), text_.size());
    return text_.substr(0, end).find(':') == std::string_view::npos && rest();
  }

 private:
  bool scheme() {
    const size_t colon = text_.find(':');
    if (colon == std::string_view::npos || colon == 0 || !is_letter(text_[0])) return false;
    if (!std::ranges::all_of(text_.substr(0, colon), [](char c) {
          return is_letter(c) || is_digit(c) || one_of(c, "+-.");
        })) {
      return false;
    }
    text_.remove_prefix(colon + 1);
    return true;
  }

  bool rest() {
    const size_t hash = text_.find('#');
    if (hash != std::string_view::npos) {
      if (!characters(text_.substr(hash + 1), ":@/?")) return false;
      text_ = text_.substr(0, hash);
    }
    const size_t question = text_.find('?');
    if (question != std::string_view::npos) {
      if (!characters(text_.substr(question + 1), ":@/?")) return false;
      text_ = text_.substr(0, question);
    }
    if (text_.starts_with("//")) {
      text_.remove_prefix(2);
      const size_t end = std::min(text_.find('/'), text_.size());
      if (!authority(text_.substr(0, end))) return false;
      text_.remove_prefix(end);
    }
    return characters(text_, ":@/");
  }

  bool authority(std::string_view text) const {
    const size_t at = text.find('@');
    if (at != std::string_view::npos) {
      if (!characters(text.substr(0, at), ":")) return false;
      text.remove_prefix(at + 1);
    }
    std::string_view port;
    if (text.starts_with('[')) {
      const size_t close = text.find(']');
      if (close == std::string_view::npos || !is_ip_literal(text.substr(1, close - 1))) {
        return false;
      }
      text.remove_prefix(close + 1);
      if (text.empty()) return true;
      if (!text.starts_with(':')) return false;
      port = text.substr(1);
    } else {
      const size_t colon = text.find(':');
      if (!characters(text.substr(0, colon), "")) return false;
      if (colon == std::string_view::npos) return true;
      port = text.substr(colon + 1);
    }
    return std::ranges::all_of(port, is_digit);
  }

  static bool is_ip_literal(std::string_view text) {
    if (!text.starts_with('v') && !text.starts_with('V')) return is_ipv6(text);
    const size_t dot = text.find('.');
    if (dot == std::string_view::npos || dot < 2 || dot + 1 == text.size()) return false;
    return std::ranges::all_of(text.substr(1, dot - 1), is_hex) &&
           std::ranges::all_of(text.substr(dot + 1), [](char c) {
             return is_letter(c) || is_digit(c) || one_of(c, "-._~!$&'()*+,;=:");
           });
  }

  // unreserved, sub-delims, percent-encoded, and `more`.
  [[nodiscard]] bool characters(std::string_view text, std::string_view more) const {
    for (size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (c == '%') {
        if (i + 2 >= text.size() || !is_hex(text[i + 1]) || !is_hex(text[i + 2])) return false;
        i += 2;
      } else if (!is_ascii(c)) {
        if (!international_) return false;
      } else if (!is_letter(c) && !is_digit(c) && !one_of(c, "-._~!$&'()*+,;=") && !one_of(c, more)) {
        return false;
      }
    }
    return true;
  }

  std::string_view text_;
  bool international_;
};

// One variable of a template expression: name, then ":123" or "*".
bool is_variable(std::string_view text) {
  size_t end = std::min(text.find_first_of(":*"), text.size());
  const std::string_view name = text.substr(0, end);
  if (name.empty() || name.front() == '.' || name.back() == '.') return false;
  if (name.find("..") != std::string_view::npos) return false;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '%') {
      if (i + 2 >= name.size() || !is_hex(name[i + 1]) || !is_hex(name[i + 2])) return false;
      i += 2;
    } else if (!is_letter(name[i]) && !is_digit(name[i]) && !one_of(name[i], "_.")) {
      return false;
    }
  }
  const std::string_view modifier = text.substr(end);
  if (modifier.empty() || modifier == "*") return true;
  return modifier.size() >= 2 && modifier.size() <= 5 && modifier[0] == ':' && modifier[1] != '0' &&
         std::ranges::all_of(modifier.substr(1), is_digit);
}

bool is_uri_template(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '{') {
      const size_t close = text.find('}', i);
      if (close == std::string_view::npos) return false;
      std::string_view list = text.substr(i + 1, close - i - 1);
      if (!list.empty() && one_of(list.front(), "+#./;?&=,!@|")) list.remove_prefix(1);
      while (true) {
        const size_t comma = std::min(list.find(','), list.size());
        if (!is_variable(list.substr(0, comma))) return false;
        if (comma == list.size()) break;
        list.remove_prefix(comma + 1);
      }
      i = close;
    } else if (c == '%') {
      if (i + 2 >= text.size() || !is_hex(text[i + 1]) || !is_hex(text[i + 2])) return false;
      i += 2;
    } else if (is_ascii(c) && (static_cast<unsigned char>(c) <= 0x20 ||
                               c == 0x7f || one_of(c, "\"<>\\^`{|}"))) {
      return false;
    }
  }
  return true;
}

bool is_uuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' : !is_hex(text[i])) return false;
  }
  return true;
}

bool is_json_pointer(std::string_view text) {
  if (!text.empty() && text.front() != '/') return false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '~' && (i + 1 == text.size() || (text[i + 1] != '0' && text[i + 1] != '1'))) {
      return false;
    }
  }
  return true;
}

bool is_relative_json_pointer(std::string_view text) {
  if (!starts_digit(text)) return false;
  const bool zero = text.front() == '0';
  size_t length = 0;
  while (length < text.size() && is_digit(text[length])) ++length;
  if (zero && length > 1) return false;
  text.remove_prefix(length);
  return text == "#" || is_json_pointer(text);
}

using Check = bool (*)(const std::string&);

constexpr std::pair<std::string_view, Check> kFormats[] = {
    {"date", [](const std::string& t) { return is_date(t); }},
    {"time", [](const std::string& t) { return is_time(t); }},
    {"date-time", [](const std::string& t) { return is_date_time(t); }},
    {"duration", [](const std::string& t) { return is_duration(t); }},
    {"email", [](const std::string& t) { return is_mailbox(t, false); }},
    {"idn-email", [](const std::string& t) { return is_mailbox(t, true); }},
    {"hostname", [](const std::string& t) { return is_hostname(t); }},
    {"ipv4", [](const std::string& t) { return is_ipv4(t); }},
    {"ipv6", [](const std::string& t) { return is_ipv6(t); }},
    {"uri", [](const std::string& t) { return UriParser(t, false).uri(); }},
    {"uri-reference", [](const std::string& t) { return UriParser(t, false).reference(); }},
    {"iri", [](const std::string& t) { return UriParser(t, true).uri(); }},
    {"iri-reference", [](const std::string& t) { return UriParser(t, true).reference(); }},
    {"uri-template", [](const std::string& t) { return is_uri_template(t); }},
    {"uuid", [](const std::string& t) { return is_uuid(t); }},
    {"json-pointer", [](const std::string& t) { return is_json_pointer(t); }},
    {"relative-json-pointer", [](const std::string& t) { return is_relative_json_pointer(t); }},
    {"regex", [](const std::string& t) { return is_ecma_regex(t); }},
};

}  // namespace

bool is_known_format(std::string_view format) {
  return std::ranges::any_of(kFormats, [&](const auto& row) { return row.first == format; });
}

bool matches_format(std::string_view format, const std::string& text) {
  const auto row =
      std::ranges::find_if(kFormats, [&](const auto& entry) { return entry.first == format; });
  return row != std::end(kFormats) && row->second(text);
}

}  // namespace hone
