// Look-up of filters, and the filters on single values.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <unordered_map>

#include "runtime/text/jinja/arguments.h"
#include "runtime/text/jinja/builtins.h"
#include "runtime/text/jinja/operators.h"
#include "runtime/text/jinja/python_text.h"
#include "runtime/text/jinja/tojson.h"

namespace hone::jinja {
namespace {

Value default_filter(Interpreter&, const Value& input, Arguments& arguments) {
  const Bound args(arguments, "default", {"default_value", "boolean"});
  if (input.is_undefined() || (args.flag(1, false) && !truthy(input))) {
    return args.has(0) ? args[0] : Value("");
  }
  return input;
}

Value int_filter(Interpreter&, const Value& input, Arguments& arguments) {
  const Bound args(arguments, "int", {"default", "base"});
  require_defined(input);
  const Value otherwise = args.has(0) ? args[0] : Value(0);
  if (input.is_integer()) return Value(input.integer());
  double real = 0;
  if (const auto* number = input.get<double>()) {
    real = *number;
  } else if (const Text* text = input.text()) {
    if (const auto value = parse_int(text->bytes, static_cast<int>(args.integer(1, 10)))) {
      return Value(*value);
    }
    const auto value = parse_float(text->bytes);
    if (!value) return otherwise;
    real = *value;
  } else {
    return otherwise;
  }
  if (!std::isfinite(real) || std::fabs(real) > 1e37) return otherwise;
  return Value(static_cast<Int>(real));
}

Value float_filter(Interpreter&, const Value& input, Arguments& arguments) {
  const Bound args(arguments, "float", {"default"});
  require_defined(input);
  if (input.is_number()) return Value(input.number());
  if (const Text* text = input.text()) {
    if (const auto value = parse_float(text->bytes)) return Value(*value);
  }
  return args.has(0) ? args[0] : Value(0.0);
}

Value round_filter(Interpreter&, const Value& input, Arguments& arguments) {
  const Bound args(arguments, "round", {"precision", "method"});
  require_defined(input);
  if (!input.is_number()) fail("type {} doesn't define __round__ method", type_name(input));
  const std::string method = args.string(1, "common");
  const auto precision = static_cast<int>(std::clamp<Int>(args.integer(0, 0), -300, 300));
  if (method == "common") {
    if (input.is_integer() && precision >= 0) return Value(input.integer());
    if (precision < 0) {
      const double scale = std::pow(10.0, -precision);
      const double rounded = std::nearbyint(input.number() / scale) * scale;
      return input.is_integer() ? Value(static_cast<Int>(rounded)) : Value(rounded);
    }
    // printf rounds the exact binary value correctly, as Python does.
    std::array<char, 700> buffer{};
    std::snprintf(buffer.data(), buffer.size(), "%.*f", precision, input.number());
    return Value(parse_float(buffer.data()).value_or(input.number()));
  }
  if (method != "ceil" && method != "floor") fail("method must be common, ceil or floor");
  const double scale = std::pow(10.0, precision);
  const double scaled = input.number() * scale;
  return Value((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale);
}

Value abs_filter(Interpreter&, const Value& input, Arguments& arguments) {
  const Bound args(arguments, "abs", {});
  require_defined(input);
  if (!input.is_number()) fail("bad operand type for abs(): '{}'", type_name(input));
  if (input.is_integer()) return input.integer() < 0 ? negate(input) : Value(input.integer());
  return Value(std::fabs(input.number()));
}

Value tojson_filter(Interpreter& interpreter, const Value& input, Arguments& arguments) {
  const Bound args(arguments, "tojson", {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonStyle style;
  style.ensure_ascii = args.flag(0, false);
  style.sort_keys = args.flag(3, false);
  if (args.has(1) && !args[1].is_none()) {
    style.indented = true;
    style.item_separator = ",";
    if (const Text* text = args[1].text()) {
      style.indent = text->bytes;
    } else {
      style.indent.assign(static_cast<size_t>(std::clamp<Int>(args.integer(1, 0), 0, 64)), ' ');
    }
  }
  if (args.has(2) && !args[2].is_none()) {
    const List* list = args[2].list();
    if (list == nullptr || list->items.size() != 2 || list->items[0].text() == nullptr ||
        list->items[1].text() == nullptr) {
      fail("tojson(): separators must be two strings");
    }
    style.item_separator = list->items[0].text()->bytes;
    style.key_separator = list->items[1].text()->bytes;
  }
  return interpreter.string(to_json(input, style));
}

Value attr_filter(Interpreter& interpreter, const Value& input, Arguments& arguments) {
  const Bound args(arguments, "attr", {"name"}, 1);
  // Attributes only: keys of a dict are items.
  if (input.dict() != nullptr && !bound_method(input, args.text(0).bytes)) {
    return Value::undefined(fmt::format("'dict object' has no attribute '{}'", args.text(0).bytes));
  }
  return interpreter.attribute(input, args.text(0).bytes);
}

constexpr auto kFilters = std::to_array<FilterEntry>({
    {"abs", abs_filter},
    {"attr", attr_filter},
    {"d", default_filter},
    {"default", default_filter},
    {"float", float_filter},
    {"int", int_filter},
    {"round", round_filter},
    {"tojson", tojson_filter},
});

const std::unordered_map<std::string_view, FilterFunction>& all_filters() {
  static const auto* const table = [] {
    auto* filters = new std::unordered_map<std::string_view, FilterFunction>();
    for (const auto group :
         {text_filters(), sequence_filters(), selection_filters(), value_filters()}) {
      for (const FilterEntry& entry : group) filters->emplace(entry.name, entry.function);
    }
    return filters;
  }();
  return *table;
}

}  // namespace

std::span<const FilterEntry> value_filters() {
  return kFilters;
}

Value Interpreter::apply_filter(const std::string& name, const Value& input, Arguments& arguments) {
  const auto found = all_filters().find(name);
  if (found == all_filters().end()) fail("No filter named '{}' found.", name);
  return found->second(*this, input, arguments);
}

}  // namespace hone::jinja
