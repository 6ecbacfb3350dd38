#include "runtime/text/jinja/python_text.h"

#include <array>
#include <charconv>
#include <cmath>

#include "runtime/text/unicode/utf8.h"

namespace hone::jinja {
namespace {

constexpr int kMaxNesting = 200;

std::string strip(std::string_view text) {
  size_t begin = 0;
  size_t end = text.size();
  while (begin < end && is_python_space(utf8_decode(text, begin).value)) {
    begin += utf8_size(text[begin]);
  }
  while (begin < end) {
    const size_t previous = utf8_previous(text, end);
    if (!is_python_space(utf8_decode(text, previous).value)) break;
    end = previous;
  }
  return std::string(text.substr(begin, end - begin));
}

// Removes underscores between digits; false when one stands elsewhere.
bool drop_underscores(std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      out += text[i];
      continue;
    }
    const auto digit = [&](size_t at) {
      return at < text.size() &&
             ((text[at] >= '0' && text[at] <= '9') || is_letter(static_cast<uint8_t>(text[at])));
    };
    if (i == 0 || !digit(i - 1) || !digit(i + 1)) return false;
  }
  text = out;
  return true;
}

void append_items(Text& out, const List& list, int depth) {
  for (size_t i = 0; i < list.items.size(); ++i) {
    if (i > 0) out.append(", ");
    append_repr(out, list.items[i], depth + 1);
  }
}

void append_list(Text& out, const List& list, int depth) {
  switch (list.kind) {
    case ListKind::kList:
      out.append("[");
      append_items(out, list, depth);
      out.append("]");
      return;
    case ListKind::kTuple:
      out.append("(");
      append_items(out, list, depth);
      out.append(list.items.size() == 1 ? ",)" : ")");
      return;
    case ListKind::kRange: {
      // The step shows in the items; range() keeps at least its bounds when it is empty.
      const Int first = list.items.empty() ? 0 : list.items.front().integer();
      const Int step = list.items.size() > 1 ? list.items[1].integer() - first : 1;
      const Int stop = list.items.empty() ? 0 : list.items.back().integer() + step;
      out.append(
          step == 1 ? fmt::format("range({}, {})", first, stop)
                    : fmt::format("range({}, {}, {})", first, stop, step)
      );
      return;
    }
    case ListKind::kKeys:
    case ListKind::kValues:
    case ListKind::kItems:
      out.append(
          list.kind == ListKind::kKeys     ? "dict_keys(["
          : list.kind == ListKind::kValues ? "dict_values(["
                                           : "dict_items(["
      );
      append_items(out, list, depth);
      out.append("])");
      return;
    case ListKind::kGenerator:
      out.append("<generator object>");
  }
}

}  // namespace

bool is_python_space(char32_t c) {
  return is_white_space(c) || (c >= 0x1C && c <= 0x1F);
}

size_t character_offset(std::string_view text, size_t index) {
  size_t at = 0;
  for (; index > 0 && at < text.size(); --index) at += utf8_size(text[at]);
  return at;
}

std::string float_repr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::array<char, 64> buffer{};
  const auto end = std::to_chars(
      buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific
  );
  const std::string_view text(buffer.data(), end.ptr - buffer.data());
  const size_t e = text.find('e');
  const int exponent = std::stoi(std::string(text.substr(e + 1)));
  std::string sign;
  std::string digits;
  for (const char c : text.substr(0, e)) {
    if (c == '-') {
      sign = "-";
    } else if (c != '.') {
      digits += c;
    }
  }
  if (exponent < -4 || exponent >= 16) {
    std::string out = sign + digits.substr(0, 1);
    if (digits.size() > 1) out += "." + digits.substr(1);
    return out + fmt::format("e{}{:02}", exponent < 0 ? '-' : '+', std::abs(exponent));
  }
  if (exponent < 0) return sign + "0." + std::string(-exponent - 1, '0') + digits;
  const auto whole = static_cast<size_t>(exponent) + 1;
  if (digits.size() <= whole) return sign + digits + std::string(whole - digits.size(), '0') + ".0";
  return sign + digits.substr(0, whole) + "." + digits.substr(whole);
}

std::string string_repr(std::string_view text) {
  const bool single = text.find('\'') != std::string_view::npos;
  const char quote = single && text.find('"') == std::string_view::npos ? '"' : '\'';
  std::string out(1, quote);
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = utf8_decode(text, at);
    at += c.size;
    if (c.value == static_cast<char32_t>(quote) || c.value == '\\') {
      out += '\\';
      out += static_cast<char>(c.value);
    } else if (c.value == '\n') {
      out += "\\n";
    } else if (c.value == '\r') {
      out += "\\r";
    } else if (c.value == '\t') {
      out += "\\t";
    } else if (is_printable(c.value)) {
      utf8_append(out, c.value);
    } else if (c.value < 0x100) {
      out += fmt::format("\\x{:02x}", static_cast<uint32_t>(c.value));
    } else if (c.value < 0x10000) {
      out += fmt::format("\\u{:04x}", static_cast<uint32_t>(c.value));
    } else {
      out += fmt::format("\\U{:08x}", static_cast<uint32_t>(c.value));
    }
  }
  return out + quote;
}

void append_repr(Text& out, const Value& value, int depth) {
  if (depth > kMaxNesting) fail("value nested deeper than {}", kMaxNesting);
  if (const Text* text = value.text()) {
    if (text->safe) out.append("Markup(");
    out.append(string_repr(text->bytes), text->has_input());
    if (text->safe) out.append(")");
  } else if (value.is_undefined()) {
    out.append("Undefined");
  } else if (value.is_none()) {
    out.append("None");
  } else if (const auto* flag = value.get<bool>()) {
    out.append(*flag ? "True" : "False");
  } else if (const auto* integer = value.get<Int>()) {
    out.append(fmt::format("{}", *integer));
  } else if (const auto* number = value.get<double>()) {
    out.append(float_repr(*number));
  } else if (const List* list = value.list()) {
    append_list(out, *list, depth);
  } else if (const Dict* dict = value.dict()) {
    out.append("{");
    bool first = true;
    for (const auto& [key, item] : dict->entries()) {
      if (!first) out.append(", ");
      first = false;
      append_repr(out, key, depth + 1);
      out.append(": ");
      append_repr(out, item, depth + 1);
    }
    out.append("}");
  } else if (const Namespace* space = value.space()) {
    out.append("<Namespace {");
    bool first = true;
    for (const auto& [key, item] : space->attributes.entries()) {
      if (!first) out.append(", ");
      first = false;
      append_repr(out, key, depth + 1);
      out.append(": ");
      append_repr(out, item, depth + 1);
    }
    out.append("}>");
  } else if (const Loop* loop = value.loop()) {
    out.append(fmt::format("<LoopContext {}/{}>", loop->index + 1, loop->items.size()));
  } else {
    out.append(value.callable()->describe());
  }
}

Text to_text(const Value& value) {
  if (const Text* text = value.text()) return *text;
  Text out;
  if (!value.is_undefined()) append_repr(out, value);
  return out;
}

std::optional<Int> parse_int(std::string_view text, int base) {
  std::string digits = strip(text);
  bool negative = false;
  if (!digits.empty() && (digits[0] == '-' || digits[0] == '+')) {
    negative = digits[0] == '-';
    digits.erase(0, 1);
  }
  const auto prefixed = [&](char letter) {
    return digits.size() > 2 && digits[0] == '0' && (digits[1] | 32) == letter;
  };
  if ((base == 16 && prefixed('x')) || (base == 8 && prefixed('o')) ||
      (base == 2 && prefixed('b'))) {
    digits.erase(0, 2);
  }
  if (!drop_underscores(digits) || digits.empty() || digits.size() > 36) return std::nullopt;
  Int value = 0;
  for (const char c : digits) {
    int digit = 99;
    if (c >= '0' && c <= '9') {
      digit = c - '0';
    } else if ((c | 32) >= 'a' && (c | 32) <= 'z') {
      digit = (c | 32) - 'a' + 10;
    }
    if (digit >= base) return std::nullopt;
    if (__builtin_mul_overflow(value, static_cast<Int>(base), &value) ||
        __builtin_add_overflow(value, static_cast<Int>(digit), &value)) {
      return std::nullopt;
    }
  }
  return negative ? -value : value;
}

std::optional<double> parse_float(std::string_view text) {
  std::string digits = strip(text);
  if (!drop_underscores(digits)) return std::nullopt;
  if (digits.starts_with('+')) digits.erase(0, 1);
  if (digits.empty() || digits.starts_with('+')) return std::nullopt;
  double value = 0;
  const char* last = digits.data() + digits.size();
  const auto [end, error] = std::from_chars(digits.data(), last, value);
  if (error == std::errc::invalid_argument || end != last) return std::nullopt;
  if (error == std::errc::result_out_of_range) {
    // from_chars leaves the value alone; Python gives inf or 0.
    const bool huge =
        digits.find("e-") == std::string::npos && digits.find("E-") == std::string::npos;
    value = huge ? HUGE_VAL : 0;
    if (digits.starts_with('-')) value = -value;
  }
  return value;
}

}  // namespace hone::jinja
