#include "runtime/text/jinja/operators.h"

#include <algorithm>
#include <cmath>

#include "runtime/text/jinja/format.h"
#include "runtime/text/jinja/python_text.h"
#include "runtime/text/jinja/string_case.h"
#include "runtime/text/unicode/utf8.h"

namespace hone::jinja {
namespace {

constexpr size_t kMaxRepeat = 1U << 24;  // items of list * n

std::string_view symbol_of(Op op) {
  switch (op) {
    case Op::kAdd:
      return "+";
    case Op::kSubtract:
      return "-";
    case Op::kMultiply:
      return "*";
    case Op::kDivide:
      return "/";
    case Op::kFloorDivide:
      return "//";
    case Op::kModulo:
      return "%";
    default:
      return "**";
  }
}

Int floor_divide(Int a, Int b) {
  const Int quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

Value integer_power(Int base, Int exponent) {
  if (exponent < 0) {
    return Value(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  Int result = 1;
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 == 1 && __builtin_mul_overflow(result, base, &result))
      fail("integer overflow");
    if (exponent > 1 && __builtin_mul_overflow(base, base, &base)) fail("integer overflow");
  }
  return Value(result);
}

Value integer_arithmetic(Op op, Int a, Int b) {
  Int out = 0;
  bool overflow = false;
  switch (op) {
    case Op::kAdd:
      overflow = __builtin_add_overflow(a, b, &out);
      if (overflow) fail("integer overflow");
      return Value(out);
    case Op::kSubtract:
      overflow = __builtin_sub_overflow(a, b, &out);
      if (overflow) fail("integer overflow");
      return Value(out);
    case Op::kMultiply:
      overflow = __builtin_mul_overflow(a, b, &out);
      if (overflow) fail("integer overflow");
      return Value(out);
    case Op::kPower:
      return integer_power(a, b);
    default:
      break;
  }
  if (b == 0) fail("division by zero");
  if (op == Op::kDivide) return Value(static_cast<double>(a) / static_cast<double>(b));
  if (op == Op::kFloorDivide) return Value(floor_divide(a, b));
  return Value(a - floor_divide(a, b) * b);
}

Value float_arithmetic(Op op, double a, double b) {
  switch (op) {
    case Op::kAdd:
      return Value(a + b);
    case Op::kSubtract:
      return Value(a - b);
    case Op::kMultiply:
      return Value(a * b);
    case Op::kPower:
      return Value(std::pow(a, b));
    default:
      break;
  }
  if (b == 0) fail("float division by zero");
  if (op == Op::kDivide) return Value(a / b);
  if (op == Op::kFloorDivide) return Value(std::floor(a / b));
  const double rest = std::fmod(a, b);
  return Value(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
}

bool is_sequence(const Value& value) {
  const List* list = value.list();
  return list != nullptr && (list->kind == ListKind::kList || list->kind == ListKind::kTuple);
}

Value repeat(Interpreter& interpreter, const Value& value, Int times) {
  const auto count = static_cast<size_t>(std::clamp<Int>(times, 0, kMaxRepeat));
  if (const Text* text = value.text()) {
    if (times > static_cast<Int>(kMaxRepeat)) fail("string repeated {} times is too long", times);
    interpreter.charge(text->bytes.size() * count);
    Text out;
    for (size_t i = 0; i < count; ++i) out.append(*text);
    out.safe = text->safe;
    return interpreter.string(std::move(out));
  }
  const List* list = value.list();
  if (static_cast<Int>(list->items.size()) * times > static_cast<Int>(kMaxRepeat)) {
    fail("list repeated {} times is too long", times);
  }
  std::vector<Value> items;
  for (size_t i = 0; i < count; ++i) {
    items.insert(items.end(), list->items.begin(), list->items.end());
  }
  if (list->kind == ListKind::kTuple) return Value::tuple(std::move(items));
  return interpreter.list(std::move(items));
}

}  // namespace

void require_defined(const Value& value) {
  const auto* undefined = value.get<Undefined>();
  if (undefined == nullptr) return;
  fail("{}", undefined->why == nullptr ? "value is undefined" : *undefined->why);
}

Value arithmetic(Interpreter& interpreter, Op op, const Value& a, const Value& b) {
  require_defined(a);
  if (op == Op::kModulo && a.text() != nullptr) {
    return interpreter.string(percent_format(*a.text(), b));
  }
  require_defined(b);
  if (a.is_integer() && b.is_integer()) return integer_arithmetic(op, a.integer(), b.integer());
  if (a.is_number() && b.is_number()) return float_arithmetic(op, a.number(), b.number());
  if (op == Op::kAdd) {
    if (a.text() != nullptr && b.text() != nullptr) {
      const Text& left = *a.text();
      const Text& right = *b.text();
      Text out = right.safe && !left.safe ? html_escaped(left) : left;
      out.append(left.safe && !right.safe ? html_escaped(right) : right);
      return interpreter.string(std::move(out));
    }
    if (is_sequence(a) && is_sequence(b) && a.list()->kind == b.list()->kind) {
      std::vector<Value> items = a.list()->items;
      items.insert(items.end(), b.list()->items.begin(), b.list()->items.end());
      if (a.list()->kind == ListKind::kTuple) return Value::tuple(std::move(items));
      return interpreter.list(std::move(items));
    }
    if (a.text() != nullptr) {
      fail("can only concatenate str (not \"{}\") to str", type_name(b));
    }
  }
  if (op == Op::kMultiply) {
    if ((a.text() != nullptr || is_sequence(a)) && b.is_integer()) {
      return repeat(interpreter, a, b.integer());
    }
    if ((b.text() != nullptr || is_sequence(b)) && a.is_integer()) {
      return repeat(interpreter, b, a.integer());
    }
  }
  fail(
      "unsupported operand type(s) for {}: '{}' and '{}'", symbol_of(op), type_name(a), type_name(b)
  );
}

Value negate(const Value& value) {
  require_defined(value);
  if (const auto* number = value.get<double>()) return Value(-*number);
  if (!value.is_integer()) fail("bad operand type for unary -: '{}'", type_name(value));
  return integer_arithmetic(Op::kSubtract, 0, value.integer());
}

bool compare(Op op, const Value& a, const Value& b) {
  switch (op) {
    case Op::kEqual:
      return equal(a, b);
    case Op::kNotEqual:
      return !equal(a, b);
    case Op::kLess:
      return less(a, b);
    case Op::kGreater:
      return less(b, a);
    case Op::kIn:
      return contains(b, a);
    case Op::kNotIn:
      return !contains(b, a);
    default:
      break;
  }
  // <= and >=: NaN compares false to everything, so they are not the inverse of > and <.
  if (a.is_number() && b.is_number()) {
    if (a.is_integer() && b.is_integer()) {
      return op == Op::kLessEqual ? a.integer() <= b.integer() : a.integer() >= b.integer();
    }
    return op == Op::kLessEqual ? a.number() <= b.number() : a.number() >= b.number();
  }
  return op == Op::kLessEqual ? !less(b, a) : !less(a, b);
}

bool contains(const Value& container, const Value& value) {
  if (const Text* text = container.text()) {
    const Text* part = value.text();
    if (part == nullptr) {
      fail("'in <string>' requires string as left operand, not {}", type_name(value));
    }
    return text->bytes.find(part->bytes) != std::string::npos;
  }
  if (const Dict* dict = container.dict()) return dict->find(value) != nullptr;
  if (List* list = container.list()) {
    const std::vector<Value> items =
        list->kind == ListKind::kGenerator ? list->take() : std::vector<Value>();
    const auto& all = list->kind == ListKind::kGenerator ? items : list->items;
    return std::ranges::any_of(all, [&](const Value& item) { return equal(item, value); });
  }
  if (container.is_undefined()) return false;
  fail("argument of type '{}' is not iterable", type_name(container));
}

std::optional<size_t> length_of(const Value& value) {
  if (value.is_undefined()) return 0;
  if (const Text* text = value.text()) return utf8_length(text->bytes);
  if (const Dict* dict = value.dict()) return dict->entries().size();
  if (const Loop* loop = value.loop()) return loop->items.size();
  const List* list = value.list();
  if (list == nullptr || list->kind == ListKind::kGenerator) return std::nullopt;
  return list->items.size();
}

std::vector<size_t> slice_positions(
    size_t size, const Value& start, const Value& stop, const Value& step
) {
  const auto bound = [](const Value& value, const char* name) -> std::optional<Int> {
    if (value.is_none()) return std::nullopt;
    if (!value.is_integer()) {
      fail("slice indices must be integers or None, {} is {}", name, type_name(value));
    }
    return value.integer();
  };
  const Int by = bound(step, "step").value_or(1);
  if (by == 0) fail("slice step cannot be zero");
  const auto length = static_cast<Int>(size);
  const Int lowest = by > 0 ? 0 : -1;
  const Int highest = by > 0 ? length : length - 1;
  const auto place = [&](std::optional<Int> at, Int otherwise) {
    if (!at) return otherwise;
    return std::clamp(*at < 0 ? *at + length : *at, lowest, highest);
  };
  const Int first = place(bound(start, "start"), by > 0 ? 0 : length - 1);
  const Int last = place(bound(stop, "stop"), by > 0 ? length : -1);
  std::vector<size_t> out;
  for (Int at = first; by > 0 ? at < last : at > last; at += by) {
    out.push_back(static_cast<size_t>(at));
    if (by > length || by < -length) break;  // the next one is outside, and might overflow
  }
  return out;
}

Value slice(
    Interpreter& interpreter,
    const Value& object,
    const Value& start,
    const Value& stop,
    const Value& step
) {
  if (const Text* text = object.text()) {
    const std::string& bytes = text->bytes;
    if (is_ascii(bytes) && step.is_none()) {  // one piece
      const auto positions = slice_positions(bytes.size(), start, stop, step);
      if (positions.empty()) return Value("");
      return interpreter.string(text->slice(positions.front(), positions.back() + 1));
    }
    std::vector<size_t> offsets;
    for (size_t at = 0; at < bytes.size(); at += utf8_size(bytes[at])) offsets.push_back(at);
    const size_t count = offsets.size();
    offsets.push_back(bytes.size());
    Text out;
    for (const size_t i : slice_positions(count, start, stop, step)) {
      out.append_slice(*text, offsets[i], offsets[i + 1]);
    }
    return interpreter.string(std::move(out));
  }
  const List* list = object.list();
  if (list == nullptr || (list->kind != ListKind::kList && list->kind != ListKind::kTuple &&
                          list->kind != ListKind::kRange)) {
    // As for any key that an object does not have.
    require_defined(object);
    return Value::undefined(fmt::format("'{} object' cannot be sliced", type_name(object)));
  }
  std::vector<Value> items;
  for (const size_t i : slice_positions(list->items.size(), start, stop, step)) {
    items.push_back(list->items[i]);
  }
  if (list->kind == ListKind::kTuple) return Value::tuple(std::move(items));
  return interpreter.list(std::move(items));
}

}  // namespace hone::jinja
