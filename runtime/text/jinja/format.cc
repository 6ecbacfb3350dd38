#include "runtime/text/jinja/format.h"

#include <array>
#include <cmath>
#include <cstdio>

#include "runtime/text/jinja/python_text.h"
#include "runtime/text/jinja/string_case.h"
#include "runtime/text/unicode/utf8.h"

namespace hone::jinja {
namespace {

constexpr size_t kMaxWidth = 1U << 16;
constexpr int kMaxPrecision = 400;

bool digit(char c) {
  return c >= '0' && c <= '9';
}

size_t read_count(std::string_view text, size_t& at, size_t limit) {
  size_t value = 0;
  while (at < text.size() && digit(text[at])) {
    value = value * 10 + (text[at++] - '0');
    if (value > limit) fail("width or precision {} in a format is too large", value);
  }
  return value;
}

std::string real(double value, char type, int precision) {
  if (std::isnan(value)) return type < 'a' ? "NAN" : "nan";
  if (std::isinf(value)) {
    const std::string text = type < 'a' ? "INF" : "inf";
    return value < 0 ? "-" + text : text;
  }
  const std::array<char, 6> format{'%', '.', '*', type, '\0'};
  std::array<char, 800> buffer{};
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  const int size = std::snprintf(buffer.data(), buffer.size(), format.data(), precision, value);
#pragma GCC diagnostic pop
  return {buffer.data(), static_cast<size_t>(size)};
}

std::string in_base(Int value, char type) {
  using Magnitude = unsigned __int128;
  const bool negative = value < 0;
  auto rest = negative ? -static_cast<Magnitude>(value) : static_cast<Magnitude>(value);
  const unsigned base = type == 'x' || type == 'X' ? 16 : type == 'o' ? 8 : type == 'b' ? 2 : 10;
  const char* digits = type == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
  std::string out;
  do {
    out.insert(out.begin(), digits[static_cast<unsigned>(rest % base)]);
    rest /= base;
  } while (rest != 0);
  return negative ? "-" + out : out;
}

Int integer_of(const Value& value, char type) {
  if (value.is_integer()) return value.integer();
  const auto* number = value.get<double>();
  if (number == nullptr || !std::isfinite(*number) || std::fabs(*number) > 1e37) {
    fail("%{} format: a real number is required, not {}", type, type_name(value));
  }
  return static_cast<Int>(*number);
}

double number_of(const Value& value) {
  if (!value.is_number()) fail("must be real number, not {}", type_name(value));
  return value.number();
}

struct Spec {
  std::string fill = " ";
  char align = '\0';
  char sign = '-';
  bool alternate = false;
  size_t width = 0;
  char grouping = '\0';
  int precision = -1;
  char type = '\0';
};

// Puts text into its field. Width counts characters.
Text aligned(Text text, const Spec& spec, char usual) {
  const size_t size = utf8_length(text.bytes);
  if (size >= spec.width) return text;
  const size_t space = spec.width - size;
  const char align = spec.align != '\0' ? spec.align : usual;
  size_t before = align == '>' ? space : align == '^' ? space / 2 : 0;
  Text out;
  size_t sign = 0;
  if (align == '=') {  // the padding follows the sign
    sign = !text.bytes.empty() && (text.bytes[0] == '-' || text.bytes[0] == '+') ? 1 : 0;
    out.append_slice(text, 0, sign);
    before = space;
  }
  for (size_t i = 0; i < before; ++i) out.append(spec.fill);
  out.append_slice(text, sign, text.bytes.size());
  for (size_t i = before; i < space; ++i) out.append(spec.fill);
  return out;
}

std::string signed_text(std::string text, char sign) {
  if (sign != '-' && !text.starts_with('-')) return sign + text;
  return text;
}

std::string grouped(std::string text, char separator) {
  size_t begin = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
  size_t end = begin;
  while (end < text.size() && digit(text[end])) ++end;
  for (size_t at = end; at > begin + 3; at -= 3) text.insert(at - 3, 1, separator);
  return text;
}

Spec parse_spec(std::string_view text) {
  Spec spec;
  size_t at = 0;
  const auto is_align = [](char c) { return c == '<' || c == '>' || c == '^' || c == '='; };
  if (!text.empty()) {
    const size_t first = utf8_size(text[0]);
    if (first < text.size() && is_align(text[first])) {
      spec.fill = text.substr(0, first);
      spec.align = text[first];
      at = first + 1;
    } else if (is_align(text[0])) {
      spec.align = text[0];
      at = 1;
    }
  }
  if (at < text.size() && (text[at] == '+' || text[at] == '-' || text[at] == ' ')) {
    spec.sign = text[at++];
  }
  if (at < text.size() && text[at] == '#') {
    spec.alternate = true;
    ++at;
  }
  if (at < text.size() && text[at] == '0') {
    if (spec.align == '\0') {
      spec.fill = "0";
      spec.align = '=';
    }
    ++at;
  }
  spec.width = read_count(text, at, kMaxWidth);
  if (at < text.size() && (text[at] == ',' || text[at] == '_')) spec.grouping = text[at++];
  if (at < text.size() && text[at] == '.') {
    ++at;
    if (at >= text.size() || !digit(text[at])) fail("Format specifier missing precision");
    spec.precision = static_cast<int>(read_count(text, at, kMaxPrecision));
  }
  if (at < text.size()) spec.type = text[at++];
  if (at != text.size()) fail("Invalid format specifier '{}'", text);
  return spec;
}

Text format_string(const Text& text, Spec spec) {
  if (spec.type != '\0' && spec.type != 's') {
    fail("Unknown format code '{}' for object of type 'str'", spec.type);
  }
  Text cut = text;
  if (spec.precision >= 0) {
    cut = text.slice(0, character_offset(text.bytes, static_cast<size_t>(spec.precision)));
  }
  if (spec.align == '=') spec.align = '<';
  return aligned(std::move(cut), spec, '<');
}

Text format_integer(Int value, const Spec& spec) {
  std::string text;
  if (spec.type == 'c') {
    utf8_append(text, static_cast<char32_t>(value));
  } else {
    text = in_base(value, spec.type);
    if (spec.alternate && spec.type != '\0' && spec.type != 'd') {
      text.insert(text.starts_with('-') ? 1 : 0, std::string("0") + spec.type);
    }
    if (spec.grouping != '\0') text = grouped(text, spec.grouping);
    text = signed_text(text, spec.sign);
  }
  return aligned(Text(text), spec, '>');
}

Text format_float(double value, const Spec& spec) {
  std::string text;
  switch (spec.type) {
    case '\0':
      text = spec.precision < 0 ? float_repr(value) : real(value, 'g', spec.precision);
      break;
    case '%':
      text = real(value * 100, 'f', spec.precision < 0 ? 6 : spec.precision) + "%";
      break;
    case 'n':
      text = real(value, 'g', spec.precision < 0 ? 6 : spec.precision);
      break;
    default:
      text = real(value, spec.type, spec.precision < 0 ? 6 : spec.precision);
  }
  if (spec.grouping != '\0') text = grouped(text, spec.grouping);
  return aligned(Text(signed_text(text, spec.sign)), spec, '>');
}

// "0.name[key]" or "" looked up.
Value field_value(
    Interpreter& interpreter, std::string_view field, const Arguments& arguments, size_t& next
) {
  size_t end = field.find_first_of(".[");
  if (end == std::string_view::npos) end = field.size();
  const std::string_view name = field.substr(0, end);
  Value value;
  if (name.empty() || digit(name[0])) {
    size_t at = 0;
    const size_t index = name.empty() ? next++ : read_count(name, at, kMaxWidth);
    if (index >= arguments.positional.size()) {
      fail("Replacement index {} out of range for positional args tuple", index);
    }
    value = arguments.positional[index];
  } else {
    bool found = false;
    for (const auto& [key, named] : arguments.named) {
      if (key != name) continue;
      value = named;
      found = true;
    }
    if (!found) fail("format(): no argument '{}'", name);
  }
  while (end < field.size()) {
    if (field[end] == '.') {
      size_t stop = field.find_first_of(".[", end + 1);
      if (stop == std::string_view::npos) stop = field.size();
      value = interpreter.attribute(value, field.substr(end + 1, stop - end - 1));
      end = stop;
      continue;
    }
    const size_t stop = field.find(']', end);
    if (stop == std::string_view::npos) fail("Missing ']' in format string");
    const std::string_view key = field.substr(end + 1, stop - end - 1);
    const auto index = parse_int(key);
    value = interpreter.item(value, index ? Value(*index) : Value(key));
    end = stop + 1;
  }
  return value;
}

// `next`: the next automatic field number. Specifications may hold fields one level deep.
Text brace(
    Interpreter& interpreter,
    const Text& format,
    const Arguments& arguments,
    size_t& next,
    int depth
) {
  if (depth > 1) fail("Max string recursion exceeded");
  const std::string_view text = format.bytes;
  Text out;
  size_t done = 0;
  for (size_t at = 0; at < text.size();) {
    if (text[at] != '{' && text[at] != '}') {
      ++at;
      continue;
    }
    out.append_slice(format, done, at);
    if (at + 1 < text.size() && text[at + 1] == text[at]) {  // doubled: the brace itself
      out.append_slice(format, at, at + 1);
      at += 2;
      done = at;
      continue;
    }
    if (text[at] == '}') fail("Single '}}' encountered in format string");
    size_t close = at + 1;
    for (int open = 1; close < text.size(); ++close) {
      if (text[close] == '{') ++open;
      if (text[close] == '}' && --open == 0) break;
    }
    if (close >= text.size()) fail("expected '}}' before end of string");
    std::string_view field = text.substr(at + 1, close - at - 1);
    std::string specification;
    char conversion = '\0';
    const size_t colon = field.find_first_of(":!");
    if (colon != std::string_view::npos) {
      std::string_view rest = field.substr(colon);
      field = field.substr(0, colon);
      if (rest[0] == '!') {
        if (rest.size() < 2 || (rest.size() > 2 && rest[2] != ':')) {
          fail("expected ':' after conversion specifier");
        }
        conversion = rest[1];
        rest.remove_prefix(2);
      }
      if (!rest.empty()) specification = rest.substr(1);
    }
    Value value = field_value(interpreter, field, arguments, next);
    if (specification.find('{') != std::string::npos) {  // {:{width}}
      specification = brace(interpreter, Text(specification), arguments, next, depth + 1).bytes;
    }
    if (conversion == 'r' || conversion == 'a') {
      Text repr;
      append_repr(repr, value);
      value = Value(std::move(repr));
    } else if (conversion == 's') {
      value = Value(to_text(value));
    } else if (conversion != '\0') {
      fail("Unknown conversion specifier '{}'", conversion);
    }
    Text part = format_value(value, specification);
    out.append(format.safe && !part.safe ? html_escaped(part) : part);
    interpreter.charge(out.bytes.size() / 64);
    at = close + 1;
    done = at;
  }
  out.append_slice(format, done, text.size());
  return out;
}

}  // namespace

Text format_value(const Value& value, std::string_view specification) {
  if (specification.empty()) return to_text(value);
  const Spec spec = parse_spec(specification);
  if (const Text* text = value.text()) return format_string(*text, spec);
  constexpr std::string_view kReal = "eEfFgG%n";
  if (const auto* number = value.get<double>()) {
    if (spec.type != '\0' && kReal.find(spec.type) == std::string_view::npos) {
      fail("Unknown format code '{}' for object of type 'float'", spec.type);
    }
    return format_float(*number, spec);
  }
  if (value.is_integer()) {
    if (spec.type != '\0' && kReal.find(spec.type) != std::string_view::npos) {
      return format_float(value.number(), spec);
    }
    constexpr std::string_view kWhole = "bcdoxX";
    if (spec.type != '\0' && kWhole.find(spec.type) == std::string_view::npos) {
      fail("Unknown format code '{}' for object of type 'int'", spec.type);
    }
    return format_integer(value.integer(), spec);
  }
  fail("unsupported format string passed to {}.__format__", type_name(value));
}

Text brace_format(Interpreter& interpreter, const Text& format, const Arguments& arguments) {
  size_t next = 0;
  Text out = brace(interpreter, format, arguments, next, 0);
  out.safe = format.safe;
  return out;
}

Text percent_format(const Text& format, const Value& value) {
  const std::string_view text = format.bytes;
  const List* list = value.list();
  const bool tuple = list != nullptr && list->kind == ListKind::kTuple;
  size_t next = 0;
  const auto take = [&]() -> const Value& {
    if (tuple) {
      if (next >= list->items.size()) fail("not enough arguments for format string");
      return list->items[next++];
    }
    if (next++ > 0) fail("not enough arguments for format string");
    return value;
  };
  Text out;
  size_t done = 0;
  for (size_t at = text.find('%'); at != std::string_view::npos; at = text.find('%', at)) {
    out.append_slice(format, done, at++);
    Spec spec;
    const Value* item = nullptr;
    if (at < text.size() && text[at] == '(') {
      const size_t close = text.find(')', at);
      if (close == std::string_view::npos) fail("incomplete format key");
      const Dict* dict = value.dict();
      if (dict == nullptr) fail("format requires a mapping");
      const std::string_view key = text.substr(at + 1, close - at - 1);
      item = dict->find(key);
      if (item == nullptr) fail("format key {} is missing", string_repr(key));
      at = close + 1;
    }
    spec.align = '>';
    for (; at < text.size(); ++at) {
      if (text[at] == '-') {
        spec.align = '<';
      } else if (text[at] == '0' && spec.align != '<') {
        spec.fill = "0";
        spec.align = '=';
      } else if (text[at] == '+' || text[at] == ' ') {
        spec.sign = text[at];
      } else if (text[at] == '#') {
        spec.alternate = true;
      } else {
        break;
      }
    }
    spec.width = read_count(text, at, kMaxWidth);
    if (at < text.size() && text[at] == '.') {
      ++at;
      spec.precision = static_cast<int>(read_count(text, at, kMaxPrecision));
    }
    if (at >= text.size()) fail("incomplete format");
    const char type = text[at++];
    done = at;
    if (type == '%') {
      out.append("%");
      continue;
    }
    const Value& argument = item != nullptr ? *item : take();
    switch (type) {
      case 's':
      case 'r': {
        Text part;
        if (type == 's') {
          part = to_text(argument);
        } else {
          append_repr(part, argument);
        }
        if (format.safe && !part.safe) part = html_escaped(part);
        if (spec.align == '=') spec = Spec{.align = '>', .width = spec.width};
        out.append(format_string(part, spec));
        break;
      }
      case 'd':
      case 'i':
      case 'u':
      case 'x':
      case 'X':
      case 'o':
        spec.type = type == 'i' || type == 'u' ? 'd' : type;
        out.append(format_integer(integer_of(argument, type), spec));
        break;
      case 'c':
        spec.type = 'c';
        if (argument.text() != nullptr) {
          out.append(*argument.text());
        } else {
          out.append(format_integer(integer_of(argument, type), spec));
        }
        break;
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
        spec.type = type;
        out.append(format_float(number_of(argument), spec));
        break;
      default:
        fail("unsupported format character '{}'", type);
    }
  }
  out.append_slice(format, done, text.size());
  const bool all_used = tuple ? next == list->items.size()
                              : next > 0 || value.dict() != nullptr || value.list() != nullptr;
  if (!all_used) fail("not all arguments converted during string formatting");
  out.safe = format.safe;
  return out;
}

}  // namespace hone::jinja
