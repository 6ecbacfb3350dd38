// The tests of "x is y".
#include <array>
#include <cmath>
#include <unordered_map>

#include "runtime/text/jinja/arguments.h"
#include "runtime/text/jinja/builtins.h"
#include "runtime/text/jinja/operators.h"
#include "runtime/text/jinja/python_text.h"
#include "runtime/text/unicode/utf8.h"

namespace hone::jinja {
namespace {

using TestFunction = bool (*)(Interpreter&, const Value&, const Arguments&);

void no_arguments(const Arguments& arguments, std::string_view name) {
  const Bound args(arguments, name, {});
}

Value one_argument(const Arguments& arguments, std::string_view name) {
  const Bound args(arguments, name, {"other"}, 1);
  return args[0];
}

template <bool (*kPredicate)(const Value&)>
bool simple(Interpreter&, const Value& value, const Arguments& arguments) {
  no_arguments(arguments, "test");
  return kPredicate(value);
}

template <Op kOp>
bool compared(Interpreter&, const Value& value, const Arguments& arguments) {
  return compare(kOp, value, one_argument(arguments, "test"));
}

bool is_defined(const Value& v) {
  return !v.is_undefined();
}
bool is_undefined(const Value& v) {
  return v.is_undefined();
}
bool is_none(const Value& v) {
  return v.is_none();
}
bool is_boolean(const Value& v) {
  return v.get<bool>() != nullptr;
}
bool is_true(const Value& v) {
  return v.get<bool>() != nullptr && *v.get<bool>();
}
bool is_false(const Value& v) {
  return v.get<bool>() != nullptr && !*v.get<bool>();
}
bool is_int(const Value& v) {
  return v.get<Int>() != nullptr;
}
bool is_float(const Value& v) {
  return v.get<double>() != nullptr;
}
bool is_number(const Value& v) {
  return v.is_number();
}
bool is_string(const Value& v) {
  return v.text() != nullptr;
}
bool is_mapping(const Value& v) {
  return v.dict() != nullptr;
}
bool is_callable(const Value& v) {
  return v.callable() != nullptr;
}

bool is_iterable(const Value& v) {
  return v.is_undefined() || v.text() != nullptr || v.list() != nullptr || v.dict() != nullptr ||
         v.loop() != nullptr;
}

bool is_sequence(const Value& v) {
  if (v.is_undefined() || v.text() != nullptr || v.dict() != nullptr) return true;
  const List* list = v.list();
  return list != nullptr && (list->kind == ListKind::kList || list->kind == ListKind::kTuple ||
                             list->kind == ListKind::kRange);
}

// str.islower() and str.isupper(): cased characters, all of one case.
bool all_case(const Value& value, bool lower) {
  const Text text = to_text(value);
  bool any = false;
  for (size_t at = 0; at < text.bytes.size();) {
    const CodePoint c = utf8_decode(text.bytes, at);
    at += c.size;
    if (lower ? is_upper(c.value) : is_lower(c.value)) return false;
    any = any || (lower ? is_lower(c.value) : is_upper(c.value));
  }
  return any;
}

bool is_lower_case(const Value& v) {
  return all_case(v, true);
}
bool is_upper_case(const Value& v) {
  return all_case(v, false);
}

Int remainder_of(Interpreter& interpreter, const Value& value, const Value& divisor) {
  const Value rest = arithmetic(interpreter, Op::kModulo, value, divisor);
  return rest.is_integer() ? rest.integer() : rest.number() == 0 ? 0 : 2;
}

bool odd(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  no_arguments(arguments, "odd");
  return remainder_of(interpreter, value, Value(2)) == 1;
}

bool even(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  no_arguments(arguments, "even");
  return remainder_of(interpreter, value, Value(2)) == 0;
}

bool divisible_by(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  return remainder_of(interpreter, value, one_argument(arguments, "divisibleby")) == 0;
}

bool in(Interpreter&, const Value& value, const Arguments& arguments) {
  return contains(one_argument(arguments, "in"), value);
}

bool same_as(Interpreter&, const Value& value, const Arguments& arguments) {
  const Value other = one_argument(arguments, "sameas");
  if (value.storage().index() != other.storage().index()) return false;
  if (value.list() != nullptr) return value.list() == other.list();
  if (value.dict() != nullptr) return value.dict() == other.dict();
  return equal(value, other);
}

bool filter(Interpreter&, const Value& value, const Arguments& arguments) {
  no_arguments(arguments, "filter");
  if (value.text() == nullptr) return false;
  for (const auto group :
       {text_filters(), sequence_filters(), selection_filters(), value_filters()}) {
    for (const FilterEntry& entry : group) {
      if (entry.name == value.text()->bytes) return true;
    }
  }
  return false;
}

const std::unordered_map<std::string_view, TestFunction>& all_tests() {
  static const auto* const table = new std::unordered_map<std::string_view, TestFunction>({
      {"defined", simple<is_defined>},
      {"undefined", simple<is_undefined>},
      {"none", simple<is_none>},
      {"boolean", simple<is_boolean>},
      {"true", simple<is_true>},
      {"false", simple<is_false>},
      {"integer", simple<is_int>},
      {"float", simple<is_float>},
      {"number", simple<is_number>},
      {"string", simple<is_string>},
      {"mapping", simple<is_mapping>},
      {"iterable", simple<is_iterable>},
      {"sequence", simple<is_sequence>},
      {"callable", simple<is_callable>},
      {"lower", simple<is_lower_case>},
      {"upper", simple<is_upper_case>},
      {"odd", odd},
      {"even", even},
      {"divisibleby", divisible_by},
      {"in", in},
      {"sameas", same_as},
      {"filter", filter},
      {"eq", compared<Op::kEqual>},
      {"equalto", compared<Op::kEqual>},
      {"==", compared<Op::kEqual>},
      {"ne", compared<Op::kNotEqual>},
      {"!=", compared<Op::kNotEqual>},
      {"lt", compared<Op::kLess>},
      {"lessthan", compared<Op::kLess>},
      {"<", compared<Op::kLess>},
      {"le", compared<Op::kLessEqual>},
      {"<=", compared<Op::kLessEqual>},
      {"gt", compared<Op::kGreater>},
      {"greaterthan", compared<Op::kGreater>},
      {">", compared<Op::kGreater>},
      {"ge", compared<Op::kGreaterEqual>},
      {">=", compared<Op::kGreaterEqual>},
  });
  return *table;
}

}  // namespace

bool Interpreter::apply_test(const std::string& name, const Value& input, Arguments& arguments) {
  const auto found = all_tests().find(name);
  if (found == all_tests().end()) fail("No test named '{}' found.", name);
  return found->second(*this, input, arguments);
}

}  // namespace hone::jinja
