// Filters on lists and dicts.
#include <algorithm>
#include <array>

#include "runtime/text/jinja/arguments.h"
#include "runtime/text/jinja/attribute_path.h"
#include "runtime/text/jinja/builtins.h"
#include "runtime/text/jinja/operators.h"
#include "runtime/text/jinja/python_text.h"
#include "runtime/text/jinja/string_case.h"

namespace hone::jinja {
namespace {

constexpr size_t kMaxBatch = 1U << 20;

Value length(Interpreter&, const Value& input, Arguments& arguments) {
  const Bound args(arguments, "length", {});
  const auto size = length_of(input);
  if (!size) fail("object of type '{}' has no len()", type_name(input));
  return Value(*size);
}

Value first(Interpreter& interpreter, const Value& input, Arguments& arguments) {
  const Bound args(arguments, "first", {});
  if (List* list = input.list(); list != nullptr && list->kind == ListKind::kGenerator) {
    if (list->used < list->items.size()) return list->items[list->used++];
    return Value::undefined("No first item, sequence was empty.");
  }
  const auto items = interpreter.iterate(input);
  return items.empty() ? Value::undefined("No first item, sequence was empty.") : items.front();
}

Value last(Interpreter& interpreter, const Value& input, Arguments& arguments) {
  const Bound args(arguments, "last", {});
  if (!length_of(input)) fail("'{}' object is not reversible", type_name(input));
  const auto items = interpreter.iterate(input);
  return items.empty() ? Value::undefined("No last item, sequence was empty.") : items.back();
}

Value join(Interpreter& interpreter, const Value& input, Arguments& arguments) {
  const Bound args(arguments, "join", {"d", "attribute"});
  const Text separator = args.has(0) ? to_text(args[0]) : Text();
  const bool by_attribute = args.has(1) && !args[1].is_none();
  const AttributePath path = by_attribute ? AttributePath(args[1]) : AttributePath();
  Text out;
  bool start = true;
  for (const Value& item : interpreter.iterate(input)) {
    if (!start) out.append(separator);
    start = false;
    out.append(to_text(by_attribute ? path.get(interpreter, item) : item));
    interpreter.charge(64);
  }
  return interpreter.string(std::move(out));
}

Value list(Interpreter& interpreter, const Value& input, Arguments& arguments) {
  const Bound args(arguments, "list", {});
  return interpreter.list(interpreter.iterate(input));
}

Value reverse(Interpreter& interpreter, const Value& input, Arguments& arguments) {
  const Bound args(arguments, "reverse", {});
  if (input.text() != nullptr) {
    return slice(interpreter, input, Value(None{}), Value(None{}), Value(-1));
  }
  auto items = interpreter.iterate(input);
  std::ranges::reverse(items);
  return Value::generator(std::move(items));
}

// What sort, unique, min and max compare: the attribute, without case unless asked.
Value sort_key(
    Interpreter& interpreter, const Value& item, const AttributePath* path, bool case_sensitive
) {
  Value key = path != nullptr ? path->get(interpreter, item) : item;
  if (!case_sensitive && key.text() != nullptr) return Value(lower_case(*key.text()));
  return key;
}

// Keys and items in step.
struct Keyed {
  Value key;
  Value item;
};

std::vector<Keyed> keyed_items(
    Interpreter& interpreter, const Value& input, const Value& attribute, bool case_sensitive
) {
  const bool whole = attribute.is_none();
  const AttributePath path = whole ? AttributePath() : AttributePath(attribute);
  std::vector<Keyed> out;
  for (Value& item : interpreter.iterate(input)) {
    Value key = sort_key(interpreter, item, whole ? nullptr : &path, case_sensitive);
    out.push_back({std::move(key), std::move(item)});
  }
  return out;
}

// Keys for sort: lists, since `attribute` may name several, "a,b". (Lists of undefined values are
// equal, so sorting by an attribute that no item has keeps the order.)
std::vector<Keyed> sortable_items(
    Interpreter& interpreter, const Value& input, const Value& attribute, bool case_sensitive
) {
  std::vector<AttributePath> paths;
  if (const Text* text = attribute.text()) {
    std::string_view rest = text->bytes;
    while (true) {
      const size_t comma = rest.find(',');
      paths.emplace_back(Value(rest.substr(0, comma)));
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
  } else if (!attribute.is_none()) {
    paths.emplace_back(attribute);
  } else {
    paths.emplace_back();
  }
  std::vector<Keyed> out;
  for (Value& item : interpreter.iterate(input)) {
    std::vector<Value> parts;
    for (const AttributePath& path : paths) {
      parts.push_back(sort_key(interpreter, item, &path, case_sensitive));
    }
    interpreter.charge(128);
    out.push_back({Value::list(std::move(parts)), std::move(item)});
  }
  return out;
}

Value argument_or_none(const Bound& args, size_t i) {
  return args.has(i) ? args[i] : Value(None{});
}

Value sort(Interpreter& interpreter, const Value& input, Arguments& arguments) {
  const Bound args(arguments, "sort", {"reverse", "case_sensitive", "attribute"});
  auto items = sortable_items(interpreter, input, argument_or_none(args, 2), args.flag(1, false));
  // Python keeps equal items in their order when reversed, too.
  if (args.flag(0, false)) {
    std::ranges::stable_sort(items, [](const Keyed& a, const Keyed& b) {
      return less(b.key, a.key);
    });
  } else {
    std::ranges::stable_sort(items, [](const Keyed& a, const Keyed& b) {
      return less(a.key, b.key);
    });
  }
  std::vector<Value> out;
  for (Keyed& entry : items) out.push_back(std::move(entry.item));
  return interpreter.list(std::move(out));
}

Value unique(Interpreter& interpreter, const Value& input, Arguments& arguments) {
  const Bound args(arguments, "unique", {"case_sensitive", "attribute"});
  Dict seen;
  std::vector<Value> out;
  for (Keyed& entry :
       keyed_items(interpreter, input, argument_or_none(args, 1), args.flag(0, false))) {
    if (seen.find(entry.key) != nullptr) continue;
    seen.set(entry.key, Value(true));
    out.push_back(std::move(entry.item));
  }
  return Value::generator(std::move(out));
}

Value extreme(Interpreter& interpreter, const Value& input, Arguments& arguments, bool largest) {
  const Bound args(arguments, largest ? "max" : "min", {"case_sensitive", "attribute"});
  auto items = keyed_items(interpreter, input, argument_or_none(args, 1), args.flag(0, false));
  if (items.empty()) return Value::undefined("No aggregated item, sequence was empty.");
  size_t best = 0;
  for (size_t i = 1; i < items.size(); ++i) {
    const bool better =
        largest ? less(items[best].key, items[i].key) : less(items[i].key, items[best].key);
    if (better) best = i;
  }
  return items[best].item;
}

Value min(Interpreter& interpreter, const Value& input, Arguments& arguments) {
  return extreme(interpreter, input, arguments, false);
}

Value max(Interpreter& interpreter, const Value& input, Arguments& arguments) {
  return extreme(interpreter, input, arguments, true);
}

Value sum(Interpreter& interpreter, const Value& input, Arguments& arguments) {
  const Bound args(arguments, "sum", {"attribute", "start"});
  Value total = args.has(1) ? args[1] : Value(0);
  const bool by_attribute = args.has(0) && !args[0].is_none();
  const AttributePath path = by_attribute ? AttributePath(args[0]) : AttributePath();
  for (const Value& item : interpreter.iterate(input)) {
    total =
        arithmetic(interpreter, Op::kAdd, total, by_attribute ? path.get(interpreter, item) : item);
  }
  return total;
}

Value items(Interpreter& interpreter, const Value& input, Arguments& arguments) {
  const Bound args(arguments, "items", {});
  if (input.is_undefined()) return Value::generator({});
  const Dict* dict = input.dict();
  if (dict == nullptr) fail("Can only get item pairs from a mapping.");
  std::vector<Value> out;
  for (const auto& [key, value] : dict->entries()) out.push_back(Value::tuple({key, value}));
  interpreter.charge(out.size() * 128);
  return Value::generator(std::move(out));
}

Value dictsort(Interpreter& interpreter, const Value& input, Arguments& arguments) {
  const Bound args(arguments, "dictsort", {"case_sensitive", "by", "reverse"});
  require_defined(input);
  const Dict* dict = input.dict();
  if (dict == nullptr) fail("'{}' object has no attribute 'items'", type_name(input));
  const std::string by = args.string(1, "key");
  if (by != "key" && by != "value") fail("You can only sort by either \"key\" or \"value\"");
  const bool case_sensitive = args.flag(0, false);
  std::vector<Keyed> entries;
  for (const auto& [key, value] : dict->entries()) {
    entries.push_back(
        {sort_key(interpreter, by == "key" ? key : value, nullptr, case_sensitive),
         Value::tuple({key, value})}
    );
  }
  const bool reversed = args.flag(2, false);
  std::ranges::stable_sort(entries, [reversed](const Keyed& a, const Keyed& b) {
    return reversed ? less(b.key, a.key) : less(a.key, b.key);
  });
  std::vector<Value> out;
  for (Keyed& entry : entries) out.push_back(std::move(entry.item));
  return interpreter.list(std::move(out));
}

Value batch(Interpreter& interpreter, const Value& input, Arguments& arguments) {
  const Bound args(arguments, "batch", {"linecount", "fill_with"}, 1);
  const Int count = args.integer(0, 1);
  if (count < 1 || count > static_cast<Int>(kMaxBatch)) fail("batch(): bad line count {}", count);
  std::vector<Value> out;
  std::vector<Value> line;
  const auto finish_line = [&] { out.push_back(interpreter.list(std::exchange(line, {}))); };
  for (Value& item : interpreter.iterate(input)) {
    line.push_back(std::move(item));
    if (static_cast<Int>(line.size()) == count) finish_line();
  }
  if (!line.empty()) {
    if (args.has(1) && !args[1].is_none()) line.resize(static_cast<size_t>(count), args[1]);
    finish_line();
  }
  return Value::generator(std::move(out));
}

Value slice_filter(Interpreter& interpreter, const Value& input, Arguments& arguments) {
  const Bound args(arguments, "slice", {"slices", "fill_with"}, 1);
  const Int count = args.integer(0, 1);
  if (count < 1 || count > static_cast<Int>(kMaxBatch)) fail("slice(): bad number {}", count);
  const auto slices = static_cast<size_t>(count);
  const auto all = interpreter.iterate(input);
  const size_t each = all.size() / slices;
  const size_t longer = all.size() % slices;
  std::vector<Value> out;
  size_t at = 0;
  for (size_t i = 0; i < slices; ++i) {
    const size_t size = each + (i < longer ? 1 : 0);
    std::vector<Value> part(
        all.begin() + static_cast<std::ptrdiff_t>(at),
        all.begin() + static_cast<std::ptrdiff_t>(at + size)
    );
    at += size;
    if (args.has(1) && !args[1].is_none() && i >= longer) part.push_back(args[1]);
    out.push_back(interpreter.list(std::move(part)));
  }
  return Value::generator(std::move(out));
}

constexpr auto kFilters = std::to_array<FilterEntry>({
    {"batch", batch},
    {"count", length},
    {"dictsort", dictsort},
    {"first", first},
    {"items", items},
    {"join", join},
    {"last", last},
    {"length", length},
    {"list", list},
    {"max", max},
    {"min", min},
    {"reverse", reverse},
    {"slice", slice_filter},
    {"sort", sort},
    {"sum", sum},
    {"unique", unique},
});

}  // namespace

std::span<const FilterEntry> sequence_filters() {
  return kFilters;
}

}  // namespace hone::jinja
