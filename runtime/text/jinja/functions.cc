// Functions that every template can call.
#include <algorithm>
#include <ctime>

#include "runtime/text/jinja/arguments.h"
#include "runtime/text/jinja/builtins.h"
#include "runtime/text/jinja/operators.h"
#include "runtime/text/jinja/python_text.h"

namespace hone::jinja {
namespace {

constexpr size_t kMaxRange = 100'000;  // as in Jinja2's sandbox

Value range(Interpreter& interpreter, Arguments& arguments) {
  const auto& given = arguments.positional;
  if (given.empty() || given.size() > 3 || !arguments.named.empty()) {
    fail("range expected 1 to 3 arguments, got {}", given.size());
  }
  const auto integer = [&](size_t i) {
    require_defined(given[i]);
    if (!given[i].is_integer()) {
      fail("'{}' object cannot be interpreted as an integer", type_name(given[i]));
    }
    return given[i].integer();
  };
  const Int start = given.size() > 1 ? integer(0) : 0;
  const Int stop = given.size() > 1 ? integer(1) : integer(0);
  const Int step = given.size() > 2 ? integer(2) : 1;
  if (step == 0) fail("range() arg 3 must not be zero");
  auto list = std::make_shared<List>();
  list->kind = ListKind::kRange;
  for (Int at = start; step > 0 ? at < stop : at > stop; at += step) {
    if (list->items.size() >= kMaxRange) {
      fail("Range too big. The sandbox blocks ranges larger than {}.", kMaxRange);
    }
    list->items.emplace_back(at);
  }
  interpreter.charge(list->items.size() * sizeof(Value));
  return Value(std::move(list));
}

// dict(mapping or pairs, name=value ...).
Value dict(Interpreter& interpreter, Arguments& arguments) {
  const Value out(std::make_shared<Dict>());
  interpreter.call(*bound_method(out, "update"), arguments);
  return out;
}

Value make_namespace(Interpreter& interpreter, Arguments& arguments) {
  const Value values = dict(interpreter, arguments);
  auto space = std::make_shared<Namespace>();
  space->attributes = *values.dict();
  interpreter.keep(space);
  return Value(std::move(space));
}

Value raise_exception(Interpreter&, Arguments& arguments) {
  const Bound args(arguments, "raise_exception", {"message"}, 1);
  throw Fault(to_text(args[0]).bytes);
}

// joiner(sep): "" the first time it is called, then sep.
Value joiner(Interpreter&, Arguments& arguments) {
  const Bound args(arguments, "joiner", {"sep"});
  const Value separator(args.has(0) ? to_text(args[0]) : Text(", "));
  return make_callable("joiner", [separator, used = false](Interpreter&, Arguments&) mutable {
    const bool first = !std::exchange(used, true);
    return first ? Value("") : separator;
  });
}

// cycler(a, b, ..): .next(), .current, .reset().
Value cycler(Interpreter& interpreter, Arguments& arguments) {
  if (arguments.positional.empty() || !arguments.named.empty()) {
    fail("at least one item has to be provided");
  }
  auto space = std::make_shared<Namespace>();
  interpreter.keep(space);
  const Value items = Value::tuple(arguments.positional);
  const auto at = std::make_shared<size_t>(0);
  // The attribute "current" is set anew by each call; a weak pointer, so that no cycle arises.
  const std::weak_ptr<Namespace> weak = space;
  const auto show = [weak, items, at] {
    if (const auto owner = weak.lock()) owner->attributes.set("current", items.list()->items[*at]);
  };
  show();
  space->attributes.set("next", make_callable("next", [items, at, show](Interpreter&, Arguments&) {
                          const Value value = items.list()->items[*at];
                          *at = (*at + 1) % items.list()->items.size();
                          show();
                          return value;
                        }));
  space->attributes.set("reset", make_callable("reset", [at, show](Interpreter&, Arguments&) {
                          *at = 0;
                          show();
                          return Value(None{});
                        }));
  return Value(std::move(space));
}

std::tm parse_time(std::string_view time) {
  std::tm parts{};
  const auto number = [&](size_t at, size_t size, int low, int high) {
    int value = 0;
    for (size_t i = at; i < at + size; ++i) {
      const char c = i < time.size() ? time[i] : 'x';
      if (c < '0' || c > '9') value = -1;
      if (value >= 0) value = value * 10 + (c - '0');
    }
    if (value < low || value > high) {
      fail("date {} must be YYYY-MM-DD or YYYY-MM-DD HH:MM:SS", string_repr(time));
    }
    return value;
  };
  const bool with_time = time.size() == 19;
  if (time.size() != 10 && !with_time) number(time.size(), 1, 0, 0);
  parts.tm_year = number(0, 4, 0, 9999) - 1900;
  parts.tm_mon = number(5, 2, 1, 12) - 1;
  parts.tm_mday = number(8, 2, 1, 31);
  if (with_time) {
    parts.tm_hour = number(11, 2, 0, 23);
    parts.tm_min = number(14, 2, 0, 59);
    parts.tm_sec = number(17, 2, 0, 59);
  }
  timegm(&parts);  // fills in the day of the week and of the year
  return parts;
}

}  // namespace

std::optional<Value> builtin_function(std::string_view name) {
  if (name == "range") return make_callable("range", range);
  if (name == "dict") return make_callable("dict", dict);
  if (name == "namespace") return make_callable("namespace", make_namespace);
  if (name == "raise_exception") return make_callable("raise_exception", raise_exception);
  if (name == "joiner") return make_callable("joiner", joiner);
  if (name == "cycler") return make_callable("cycler", cycler);
  return std::nullopt;
}

Value strftime_function(std::string_view time) {
  const std::tm parts = parse_time(time);
  return make_callable("strftime_now", [parts](Interpreter& interpreter, Arguments& arguments) {
    const Bound args(arguments, "strftime_now", {"format"}, 1);
    const std::string& format = args.text(0).bytes;
    if (format.empty()) return Value("");
    std::string buffer(format.size() * 16 + 256, '\0');
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    buffer.resize(std::strftime(buffer.data(), buffer.size(), format.c_str(), &parts));
#pragma GCC diagnostic pop
    return interpreter.string(Text(std::move(buffer)));
  });
}

Value loop_method(const std::shared_ptr<Loop>& loop, std::string_view name) {
  if (name == "cycle") {
    return make_callable("cycle", [index = loop->index](Interpreter&, Arguments& arguments) {
      if (arguments.positional.empty()) fail("no items for cycling given");
      return arguments.positional[index % arguments.positional.size()];
    });
  }
  if (name == "changed") {
    const std::weak_ptr<Loop> weak = loop;
    return make_callable("changed", [weak](Interpreter&, Arguments& arguments) {
      const auto owner = weak.lock();
      if (owner == nullptr) return Value(true);
      const Value now = Value::tuple(arguments.positional);
      const bool changed = !equal(owner->changed, now);
      owner->changed = now;
      return Value(changed);
    });
  }
  return {};
}

}  // namespace hone::jinja
