// What templates can call: functions, filters, tests, methods.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "runtime/text/jinja/interpreter.h"
#include "runtime/text/jinja/value.h"

namespace hone::jinja {

// range, dict, namespace, cycler, joiner, raise_exception; nothing for other names.
std::optional<Value> builtin_function(std::string_view name);

// strftime_now of a fixed time, "YYYY-MM-DD" or "YYYY-MM-DD HH:MM:SS". Throws Fault.
Value strftime_function(std::string_view time);

// The method of a string, dict or list, bound to it; nothing when there is no such method.
std::optional<Value> bound_method(const Value& object, std::string_view name);

// loop.cycle, loop.changed; undefined for other names.
Value loop_method(const std::shared_ptr<Loop>& loop, std::string_view name);

// A callable from a function of (Interpreter&, Arguments&).
template <typename Function>
Value make_callable(std::string name, Function function) {
  struct Wrapped : Callable {
    Wrapped(std::string n, Function f) : name(std::move(n)), function(std::move(f)) {}
    Value call(Interpreter& interpreter, Arguments& arguments) override {
      return function(interpreter, arguments);
    }
    std::string describe() const override { return "<function " + name + ">"; }
    std::string name;
    Function function;
  };
  return Value(std::static_pointer_cast<Callable>(
      std::make_shared<Wrapped>(std::move(name), std::move(function))
  ));
}

using FilterFunction = Value (*)(Interpreter&, const Value& input, Arguments& arguments);
struct FilterEntry {
  std::string_view name;
  FilterFunction function;
};
std::span<const FilterEntry> text_filters();
std::span<const FilterEntry> sequence_filters();
std::span<const FilterEntry> selection_filters();
std::span<const FilterEntry> value_filters();

using MethodFunction = Value (*)(Interpreter&, const Value& self, Arguments& arguments);
struct MethodEntry {
  std::string_view name;
  MethodFunction function;
};
std::span<const MethodEntry> string_methods();
std::span<const MethodEntry> string_tests();  // isdigit(), startswith() ...
std::span<const MethodEntry> list_methods();
std::span<const MethodEntry> tuple_methods();
std::span<const MethodEntry> dict_methods();

}  // namespace hone::jinja
