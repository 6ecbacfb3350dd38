// map, select, reject and their attribute forms, groupby.
#include <algorithm>
#include <array>

#include "runtime/text/jinja/arguments.h"
#include "runtime/text/jinja/attribute_path.h"
#include "runtime/text/jinja/builtins.h"
#include "runtime/text/jinja/python_text.h"
#include "runtime/text/jinja/string_case.h"

namespace hone::jinja {
namespace {

std::string name_of(const Value& value, std::string_view what) {
  if (value.text() == nullptr) fail("{}: a name is needed, found {}", what, type_name(value));
  return value.text()->bytes;
}

Arguments without_first(const Arguments& arguments, size_t count) {
  Arguments out = arguments;
  out.positional.erase(
      out.positional.begin(), out.positional.begin() + static_cast<std::ptrdiff_t>(count)
  );
  return out;
}

// map(attribute="x", default=y) or map("filter", arguments).
Value map(Interpreter& interpreter, const Value& input, Arguments& arguments) {
  std::vector<Value> out;
  if (!truthy(input)) return Value::generator({});  // None as well
  if (arguments.positional.empty() && !arguments.named.empty()) {
    const Bound args(arguments, "map", {"attribute", "default"});
    if (!args.has(0)) fail("map requires a filter argument");
    const AttributePath path(args[0]);
    for (const Value& item : interpreter.iterate(input)) {
      Value value = path.get(interpreter, item);
      if (value.is_undefined() && args.has(1)) value = args[1];
      out.push_back(std::move(value));
    }
    return Value::generator(std::move(out));
  }
  if (arguments.positional.empty()) fail("map requires a filter argument");
  const std::string filter = name_of(arguments.positional[0], "map");
  for (const Value& item : interpreter.iterate(input)) {
    Arguments rest = without_first(arguments, 1);
    out.push_back(interpreter.apply_filter(filter, item, rest));
  }
  return Value::generator(std::move(out));
}

struct Selection {
  bool keep;
  bool by_attribute;
};

Value select(
    Interpreter& interpreter, const Value& input, const Arguments& arguments, Selection how
) {
  if (!truthy(input)) return Value::generator({});  // None as well
  const auto& given = arguments.positional;
  const size_t skip = how.by_attribute ? 1 : 0;
  if (given.size() < skip) fail("Missing parameter for attribute name");
  const AttributePath path = how.by_attribute ? AttributePath(given[0]) : AttributePath();
  const bool tested = given.size() > skip;
  const std::string test = tested ? name_of(given[skip], "select") : "";
  std::vector<Value> out;
  for (Value& item : interpreter.iterate(input)) {
    const Value subject = how.by_attribute ? path.get(interpreter, item) : item;
    bool holds = false;
    if (tested) {
      Arguments rest = without_first(arguments, skip + 1);
      holds = interpreter.apply_test(test, subject, rest);
    } else {
      holds = truthy(subject);
    }
    if (holds == how.keep) out.push_back(std::move(item));
  }
  return Value::generator(std::move(out));
}

Value select_filter(Interpreter& interpreter, const Value& input, Arguments& arguments) {
  return select(interpreter, input, arguments, {.keep = true, .by_attribute = false});
}
Value reject_filter(Interpreter& interpreter, const Value& input, Arguments& arguments) {
  return select(interpreter, input, arguments, {.keep = false, .by_attribute = false});
}
Value selectattr(Interpreter& interpreter, const Value& input, Arguments& arguments) {
  return select(interpreter, input, arguments, {.keep = true, .by_attribute = true});
}
Value rejectattr(Interpreter& interpreter, const Value& input, Arguments& arguments) {
  return select(interpreter, input, arguments, {.keep = false, .by_attribute = true});
}

// Pairs (key, items), sorted by key without case.
Value groupby(Interpreter& interpreter, const Value& input, Arguments& arguments) {
  const Bound args(arguments, "groupby", {"attribute", "default", "case_sensitive"}, 1);
  const AttributePath path(args[0]);
  const bool case_sensitive = args.flag(2, false);
  struct Keyed {
    Value compared;
    Value key;
    Value item;
  };
  std::vector<Keyed> all;
  for (Value& item : interpreter.iterate(input)) {
    Value key = path.get(interpreter, item);
    if (key.is_undefined() && args.has(1)) key = args[1];
    const Text* text = key.text();
    Value compared = text != nullptr && !case_sensitive ? Value(lower_case(*text)) : key;
    all.push_back({std::move(compared), std::move(key), std::move(item)});
  }
  std::ranges::stable_sort(all, [](const Keyed& a, const Keyed& b) {
    return less(a.compared, b.compared);
  });
  std::vector<Value> out;
  for (size_t begin = 0; begin < all.size();) {
    std::vector<Value> group;
    size_t end = begin;
    while (end < all.size() && equal(all[end].compared, all[begin].compared)) {
      group.push_back(all[end++].item);
    }
    out.push_back(Value::tuple({all[begin].key, interpreter.list(std::move(group))}));
    begin = end;
  }
  return interpreter.list(std::move(out));
}

constexpr auto kFilters = std::to_array<FilterEntry>({
    {"groupby", groupby},
    {"map", map},
    {"reject", reject_filter},
    {"rejectattr", rejectattr},
    {"select", select_filter},
    {"selectattr", selectattr},
});

}  // namespace

AttributePath::AttributePath(const Value& path) {
  const Text* text = path.text();
  if (text == nullptr) {
    parts_.push_back(path);
    return;
  }
  std::string_view rest = text->bytes;
  while (true) {
    const size_t dot = rest.find('.');
    const std::string_view part = rest.substr(0, dot);
    const bool digits =
        !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
    const auto index = digits ? parse_int(part) : std::nullopt;
    parts_.push_back(index ? Value(*index) : Value(part));
    if (dot == std::string_view::npos) break;
    rest.remove_prefix(dot + 1);
  }
}

Value AttributePath::get(Interpreter& interpreter, const Value& object) const {
  Value value = object;
  for (const Value& part : parts_) value = interpreter.item(value, part);
  return value;
}

std::span<const FilterEntry> selection_filters() {
  return kFilters;
}

}  // namespace hone::jinja
