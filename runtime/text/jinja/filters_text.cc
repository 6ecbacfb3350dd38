// Filters on strings.
#include <algorithm>
#include <array>

#include "runtime/text/jinja/arguments.h"
#include "runtime/text/jinja/builtins.h"
#include "runtime/text/jinja/format.h"
#include "runtime/text/jinja/python_text.h"
#include "runtime/text/jinja/string_case.h"
#include "runtime/text/unicode/utf8.h"

namespace hone::jinja {
namespace {

// Calls a method of str(input).
Value via_method(
    Interpreter& interpreter, std::string_view method, const Value& input, Arguments& arguments
) {
  const Value text = input.text() != nullptr ? input : interpreter.string(to_text(input));
  return interpreter.call(*bound_method(text, method), arguments);
}

Value upper(Interpreter& interpreter, const Value& input, Arguments& arguments) {
  const Bound args(arguments, "upper", {});
  return interpreter.string(upper_case(to_text(input)));
}

Value lower(Interpreter& interpreter, const Value& input, Arguments& arguments) {
  const Bound args(arguments, "lower", {});
  return interpreter.string(lower_case(to_text(input)));
}

Value capitalize(Interpreter& interpreter, const Value& input, Arguments& arguments) {
  const Bound args(arguments, "capitalize", {});
  return interpreter.string(capitalized(to_text(input)));
}

// Words start after blanks, hyphens and opening brackets, unlike str.title().
Value title(Interpreter& interpreter, const Value& input, Arguments& arguments) {
  const Bound args(arguments, "title", {});
  const Text text = to_text(input);
  std::string out;
  bool start = true;
  for (size_t at = 0; at < text.bytes.size();) {
    const CodePoint c = utf8_decode(text.bytes, at);
    at += c.size;
    if (start) {
      utf8_append_upper(out, c.value);
    } else {
      utf8_append_lower(out, c.value);
    }
    start = is_python_space(c.value) ||
            (c.value < 0x80 && c.value > 0 &&
             std::string_view("-({[<").find(static_cast<char>(c.value)) != std::string_view::npos);
  }
  return interpreter.string(recased(text, std::move(out)));
}

Value trim(Interpreter& interpreter, const Value& input, Arguments& arguments) {
  const Bound args(arguments, "trim", {"chars"});
  Arguments inner;
  if (args.has(0)) inner.positional.push_back(args[0]);
  return via_method(interpreter, "strip", input, inner);
}

Value replace(Interpreter& interpreter, const Value& input, Arguments& arguments) {
  const Bound args(arguments, "replace", {"old", "new", "count"}, 2);
  Arguments inner;
  for (size_t i = 0; i < 2; ++i) inner.positional.emplace_back(to_text(args[i]));
  if (args.has(2) && !args[2].is_none()) inner.positional.push_back(args[2]);
  Text text = to_text(input);
  text.safe = false;
  return via_method(interpreter, "replace", Value(std::move(text)), inner);
}

Value string(Interpreter& interpreter, const Value& input, Arguments& arguments) {
  const Bound args(arguments, "string", {});
  return input.text() != nullptr ? input : interpreter.string(to_text(input));
}

Value escape(Interpreter& interpreter, const Value& input, Arguments& arguments) {
  const Bound args(arguments, "escape", {});
  const Text text = to_text(input);
  return interpreter.string(text.safe ? text : html_escaped(text));
}

Value forceescape(Interpreter& interpreter, const Value& input, Arguments& arguments) {
  const Bound args(arguments, "forceescape", {});
  return interpreter.string(html_escaped(to_text(input)));
}

Value safe(Interpreter& interpreter, const Value& input, Arguments& arguments) {
  const Bound args(arguments, "safe", {});
  Text text = to_text(input);
  text.safe = true;
  return interpreter.string(std::move(text));
}

// Every line but the first by default; blank lines stay empty unless `blank`.
Value indent(Interpreter& interpreter, const Value& input, Arguments& arguments) {
  const Bound args(arguments, "indent", {"width", "first", "blank"});
  std::string space;
  if (args.has(0) && args[0].text() != nullptr) {
    space = args[0].text()->bytes;
  } else {
    space.assign(static_cast<size_t>(std::clamp<Int>(args.integer(0, 4), 0, 1024)), ' ');
  }
  const Text text = to_text(input);
  Text out;
  if (args.flag(1, false)) out.append(std::string_view(space));
  bool first = true;
  for (const auto& [begin, end] : line_bounds(text.bytes + "\n")) {
    if (!first) {
      out.append("\n");
      if (begin < end || args.flag(2, false)) out.append(std::string_view(space));
    }
    first = false;
    out.append_slice(text, begin, end);
  }
  return interpreter.string(std::move(out));
}

Value center(Interpreter& interpreter, const Value& input, Arguments& arguments) {
  const Bound args(arguments, "center", {"width"});
  Arguments inner;
  inner.positional.emplace_back(args.integer(0, 80));
  return via_method(interpreter, "center", input, inner);
}

Value format(Interpreter& interpreter, const Value& input, Arguments& arguments) {
  if (!arguments.named.empty() && !arguments.positional.empty()) {
    fail("can't handle positional and keyword arguments at the same time");
  }
  Value values;
  if (!arguments.named.empty()) {
    auto dict = std::make_shared<Dict>();
    for (const auto& [key, value] : arguments.named) dict->set(key, value);
    values = Value(std::move(dict));
  } else {
    values = Value::tuple(arguments.positional);
  }
  return interpreter.string(percent_format(to_text(input), values));
}

Value truncate(Interpreter& interpreter, const Value& input, Arguments& arguments) {
  const Bound args(arguments, "truncate", {"length", "killwords", "end", "leeway"});
  const Text text = to_text(input);
  const Int length = args.integer(0, 255);
  const std::string end = args.string(2, "...");
  const auto size = static_cast<Int>(utf8_length(text.bytes));
  const auto end_size = static_cast<Int>(utf8_length(end));
  if (length < end_size) fail("truncate(): length must be at least {}", end_size);
  if (size <= length + args.integer(3, 5)) return interpreter.string(text);
  size_t cut = character_offset(text.bytes, static_cast<size_t>(length - end_size));
  if (!args.flag(1, false)) {
    const size_t space = std::string_view(text.bytes).substr(0, cut).rfind(' ');
    if (space != std::string_view::npos) cut = space;
  }
  Text out = text.slice(0, cut);
  out.append(std::string_view(end));
  return interpreter.string(std::move(out));
}

Value wordcount(Interpreter&, const Value& input, Arguments& arguments) {
  const Bound args(arguments, "wordcount", {});
  const Text text = to_text(input);
  size_t words = 0;
  bool inside = false;
  for (size_t at = 0; at < text.bytes.size();) {
    const CodePoint c = utf8_decode(text.bytes, at);
    at += c.size;
    const bool word = is_word(c.value);
    words += word && !inside ? 1 : 0;
    inside = word;
  }
  return Value(words);
}

Value urlencode(Interpreter& interpreter, const Value& input, Arguments& arguments) {
  const Bound args(arguments, "urlencode", {});
  const Text text = to_text(input);
  std::string out;
  for (const char c : text.bytes) {
    const bool safe = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                      c == '_' || c == '.' || c == '-' || c == '~' || c == '/';
    if (safe) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<uint8_t>(c));
    }
  }
  return interpreter.string(recased(text, std::move(out)));
}

constexpr auto kFilters = std::to_array<FilterEntry>({
    {"capitalize", capitalize},
    {"center", center},
    {"e", escape},
    {"escape", escape},
    {"forceescape", forceescape},
    {"format", format},
    {"indent", indent},
    {"lower", lower},
    {"replace", replace},
    {"safe", safe},
    {"string", string},
    {"title", title},
    {"trim", trim},
    {"truncate", truncate},
    {"upper", upper},
    {"urlencode", urlencode},
    {"wordcount", wordcount},
});

}  // namespace

std::span<const FilterEntry> text_filters() {
  return kFilters;
}

}  // namespace hone::jinja
