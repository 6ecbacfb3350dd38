// Expressions.
#include <algorithm>

#include "runtime/text/jinja/builtins.h"
#include "runtime/text/jinja/interpreter.h"
#include "runtime/text/jinja/operators.h"
#include "runtime/text/jinja/python_text.h"
#include "runtime/text/unicode/utf8.h"

namespace hone::jinja {
namespace {

std::string describe_owner(const Value& object) {
  if (object.is_none()) return "'None'";
  return fmt::format("'{} object'", type_name(object));
}

Value loop_attribute(const std::shared_ptr<Loop>& loop, std::string_view name) {
  const size_t size = loop->items.size();
  const size_t index = loop->index;
  if (name == "index") return Value(index + 1);
  if (name == "index0") return Value(index);
  if (name == "revindex") return Value(size - index);
  if (name == "revindex0") return Value(size - index - 1);
  if (name == "first") return Value(index == 0);
  if (name == "last") return Value(index + 1 == size);
  if (name == "length") return Value(size);
  if (name == "depth") return Value(loop->depth);
  if (name == "depth0") return Value(loop->depth - 1);
  if (name == "previtem") {
    return index > 0 ? loop->items[index - 1] : Value::undefined("there is no previous item");
  }
  if (name == "nextitem") {
    return index + 1 < size ? loop->items[index + 1] : Value::undefined("there is no next item");
  }
  return loop_method(loop, name);
}

}  // namespace

Value Interpreter::evaluate(const Expr& expr, const std::shared_ptr<Scope>& scope) {
  step(expr.line);
  switch (expr.kind) {  // leaves first: they do not nest
    case ExprKind::kConstant:
      return expr.constant;
    case ExprKind::kName:
      return evaluate_name(expr, scope);
    default:
      break;
  }
  const Deeper deeper(*this);
  const auto child = [&](size_t i) { return evaluate(*expr.children[i], scope); };
  switch (expr.kind) {
    case ExprKind::kList:
    case ExprKind::kTuple: {
      std::vector<Value> items;
      for (size_t i = 0; i < expr.children.size(); ++i) items.push_back(child(i));
      if (expr.kind == ExprKind::kTuple) return Value::tuple(std::move(items));
      return list(std::move(items));
    }
    case ExprKind::kDict: {
      auto dict = std::make_shared<Dict>();
      for (size_t i = 0; i + 1 < expr.children.size(); i += 2) dict->set(child(i), child(i + 1));
      charge(expr.children.size() * sizeof(Value) + 64);
      return Value(std::move(dict));
    }
    case ExprKind::kAttribute: {
      const Value object = child(0);
      line_ = expr.line;
      return attribute(object, expr.name);
    }
    case ExprKind::kItem: {
      const Value object = child(0);
      const Value key = child(1);
      line_ = expr.line;
      return item(object, key);
    }
    case ExprKind::kSlice:
      return evaluate_slice(expr, scope);
    case ExprKind::kCall: {
      const Value callee = child(0);
      Arguments arguments = evaluate_arguments(expr, scope);
      line_ = expr.line;
      return call(callee, arguments);
    }
    case ExprKind::kFilter: {
      const Value input = child(0);
      Arguments arguments = evaluate_arguments(expr, scope);
      line_ = expr.line;
      return apply_filter(expr.name, input, arguments);
    }
    case ExprKind::kTest: {
      const Value input = child(0);
      Arguments arguments = evaluate_arguments(expr, scope);
      line_ = expr.line;
      return Value(apply_test(expr.name, input, arguments));
    }
    case ExprKind::kUnary: {
      const Value value = child(0);
      line_ = expr.line;
      if (expr.op == Op::kNegate) return negate(value);
      return negate(negate(value));
    }
    case ExprKind::kBinary: {
      const Value left = child(0);
      const Value right = child(1);
      line_ = expr.line;
      return arithmetic(*this, expr.op, left, right);
    }
    case ExprKind::kCompare:
      return evaluate_compare(expr, scope);
    case ExprKind::kConcat: {
      Text out;
      for (size_t i = 0; i < expr.children.size(); ++i) out.append(to_text(child(i)));
      line_ = expr.line;
      return string(std::move(out));
    }
    case ExprKind::kAnd: {
      Value left = child(0);
      return truthy(left) ? child(1) : left;
    }
    case ExprKind::kOr: {
      Value left = child(0);
      return truthy(left) ? left : child(1);
    }
    case ExprKind::kNot:
      return Value(!truthy(child(0)));
    default:
      return evaluate_condition(expr, scope);
  }
}

Value Interpreter::evaluate_name(const Expr& expr, const std::shared_ptr<Scope>& scope) {
  if (const Value* value = scope->find(expr.symbol)) return *value;
  const std::string& name = program_->symbols.name(expr.symbol);
  if (auto function = builtin_function(name)) return *function;
  return Value::undefined(fmt::format("'{}' is undefined", name));
}

Value Interpreter::evaluate_compare(const Expr& expr, const std::shared_ptr<Scope>& scope) {
  Value left = evaluate(*expr.children[0], scope);
  for (size_t i = 0; i < expr.compares.size(); ++i) {
    Value right = evaluate(*expr.children[i + 1], scope);
    line_ = expr.line;
    if (!compare(expr.compares[i], left, right)) return Value(false);
    left = std::move(right);
  }
  return Value(true);
}

Value Interpreter::evaluate_slice(const Expr& expr, const std::shared_ptr<Scope>& scope) {
  const auto bound = [&](size_t i) {
    return expr.children[i] == nullptr ? Value(None{}) : evaluate(*expr.children[i], scope);
  };
  const Value object = evaluate(*expr.children[0], scope);
  const Value start = bound(1);
  const Value stop = bound(2);
  const Value step_by = bound(3);
  line_ = expr.line;
  return slice(*this, object, start, stop, step_by);
}

Value Interpreter::evaluate_condition(const Expr& expr, const std::shared_ptr<Scope>& scope) {
  if (truthy(evaluate(*expr.children[0], scope))) return evaluate(*expr.children[1], scope);
  if (expr.children[2] != nullptr) return evaluate(*expr.children[2], scope);
  return Value::undefined("the inline if-expression evaluated to false and has no else section");
}

Arguments Interpreter::evaluate_arguments(const Expr& expr, const std::shared_ptr<Scope>& scope) {
  Arguments out;
  for (const Argument& argument : expr.arguments) {
    Value value = evaluate(*argument.value, scope);
    if (argument.stars == 1) {
      for (Value& part : iterate(value)) out.positional.push_back(std::move(part));
    } else if (argument.stars == 2) {
      const Dict* dict = value.dict();
      if (dict == nullptr) fail("argument after ** must be a mapping, not {}", type_name(value));
      for (const auto& [key, part] : dict->entries()) {
        if (key.text() == nullptr) fail("keywords must be strings");
        out.named.emplace_back(key.text()->bytes, part);
      }
    } else if (!argument.name.empty()) {
      out.named.emplace_back(argument.name, std::move(value));
    } else {
      out.positional.push_back(std::move(value));
    }
  }
  return out;
}

Value Interpreter::filter_block(
    const Expr& expr, Value input, const std::shared_ptr<Scope>& scope
) {
  const Deeper deeper(*this);
  if (expr.children[0] != nullptr) input = filter_block(*expr.children[0], std::move(input), scope);
  Arguments arguments = evaluate_arguments(expr, scope);
  line_ = expr.line;
  return apply_filter(expr.name, input, arguments);
}

Value Interpreter::call(const Value& callee, Arguments& arguments) {
  if (Callable* callable = callee.callable()) {
    const int line = line_;
    Value value = callable->call(*this, arguments);
    line_ = line;
    return value;
  }
  if (const Loop* loop = callee.loop(); loop != nullptr && loop->call != nullptr) {
    return loop->call->call(*this, arguments);
  }
  require_defined(callee);
  fail("'{}' object is not callable", type_name(callee));
}

Value Interpreter::attribute(const Value& object, std::string_view name) {
  require_defined(object);
  if (const Namespace* space = object.space()) {
    if (const Value* value = space->attributes.find(name)) return *value;
  } else if (object.loop() != nullptr) {
    Value value = loop_attribute(std::get<std::shared_ptr<Loop>>(object.storage()), name);
    if (!value.is_undefined() || name == "previtem" || name == "nextitem") return value;
  } else {
    if (auto method = bound_method(object, name)) return *method;
    if (const Dict* dict = object.dict()) {
      if (const Value* value = dict->find(name)) return *value;
    }
  }
  return Value::undefined(fmt::format("{} has no attribute '{}'", describe_owner(object), name));
}

Value Interpreter::item(const Value& object, const Value& key) {
  require_defined(object);
  if (const Dict* dict = object.dict()) {
    if (const Value* value =
            key.list() != nullptr || key.dict() != nullptr ? nullptr : dict->find(key)) {
      return *value;
    }
  } else if (key.is_integer()) {
    if (const Text* text = object.text()) {
      const auto size = static_cast<Int>(utf8_length(text->bytes));
      const Int index = key.integer() < 0 ? key.integer() + size : key.integer();
      if (index >= 0 && index < size) {
        const size_t begin = character_offset(text->bytes, static_cast<size_t>(index));
        return string(text->slice(begin, begin + utf8_size(text->bytes[begin])));
      }
    }
    const List* list = object.list();
    if (list != nullptr && (list->kind == ListKind::kList || list->kind == ListKind::kTuple ||
                            list->kind == ListKind::kRange)) {
      const auto size = static_cast<Int>(list->items.size());
      const Int index = key.integer() < 0 ? key.integer() + size : key.integer();
      if (index >= 0 && index < size) return list->items[static_cast<size_t>(index)];
    }
  }
  if (const Text* name = key.text()) return attribute(object, name->bytes);
  Text shown;
  append_repr(shown, key);
  return Value::undefined(fmt::format(
      "{} has no element {}", object.is_none() ? "None" : describe_owner(object), shown.bytes
  ));
}

std::vector<Value> Interpreter::iterate(const Value& value) {
  if (value.is_undefined()) return {};
  if (List* list = value.list()) return list->take();
  std::vector<Value> out;
  if (const Dict* dict = value.dict()) {
    for (const auto& entry : dict->entries()) out.push_back(entry.first);
    return out;
  }
  if (const Text* text = value.text()) {
    charge(text->bytes.size() * sizeof(Value));
    for (size_t at = 0; at < text->bytes.size();) {
      const size_t end = at + utf8_size(text->bytes[at]);
      out.emplace_back(text->slice(at, end));
      at = end;
    }
    return out;
  }
  fail("'{}' object is not iterable", type_name(value));
}

}  // namespace hone::jinja
