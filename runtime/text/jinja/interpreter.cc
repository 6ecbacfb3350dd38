#include "runtime/text/jinja/interpreter.h"

#include <algorithm>

#include "runtime/text/jinja/builtins.h"
#include "runtime/text/jinja/operators.h"
#include "runtime/text/jinja/python_text.h"

namespace hone::jinja {

void Scope::set(Symbol symbol, Value value) {
  for (auto& [name, old] : variables) {
    if (name == symbol) {
      old = std::move(value);
      return;
    }
  }
  variables.emplace_back(symbol, std::move(value));
}

const Value* Scope::find(Symbol symbol) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent.get()) {
    for (const auto& [name, value] : scope->variables) {
      if (name == symbol) return &value;
    }
  }
  return nullptr;
}

// A macro, or the body of a call block.
class Macro : public Callable {
 public:
  Macro(const Stmt& stmt, std::shared_ptr<Scope> scope, std::string name)
      : stmt_(stmt), scope_(std::move(scope)), name_(std::move(name)) {}
  Value call(Interpreter& interpreter, Arguments& arguments) override {
    return interpreter.call_macro(stmt_, scope_, name_, arguments);
  }
  std::string describe() const override { return fmt::format("<Macro '{}'>", name_); }

 private:
  const Stmt& stmt_;
  std::shared_ptr<Scope> scope_;
  std::string name_;
};

// loop(iterable) inside {% for .. recursive %}.
class RecursiveLoop : public Callable {
 public:
  RecursiveLoop(const Stmt& stmt, std::shared_ptr<Scope> scope, size_t depth)
      : stmt_(stmt), scope_(std::move(scope)), depth_(depth) {}
  Value call(Interpreter& interpreter, Arguments& arguments) override {
    if (arguments.positional.size() != 1 || !arguments.named.empty()) {
      fail("loop() takes exactly one iterable");
    }
    const Interpreter::Deeper deeper(interpreter);
    Text out;
    Text* outer = std::exchange(interpreter.out_, &out);
    try {
      interpreter.loop_over(stmt_, scope_, arguments.positional[0], depth_ + 1);
    } catch (...) {
      interpreter.out_ = outer;
      throw;
    }
    interpreter.out_ = outer;
    return interpreter.string(std::move(out));
  }
  std::string describe() const override { return "<recursive loop>"; }

 private:
  const Stmt& stmt_;
  std::shared_ptr<Scope> scope_;
  size_t depth_;
};

Interpreter::Interpreter(std::shared_ptr<const Program> program, const Limits& limits)
    : program_(std::move(program)), limits_(limits), globals_(std::make_shared<Scope>(nullptr)) {}

Interpreter::~Interpreter() {
  // Everything that can be part of a cycle is emptied first; what it held is still held here, so
  // nothing is destroyed recursively.
  std::vector<Value> held;
  const auto drop_dict = [&](Dict& dict) {
    for (const auto& entry : dict.entries()) held.push_back(entry.second);
    dict.clear();
  };
  for (const auto& list : lists_) {
    held.insert(held.end(), list->items.begin(), list->items.end());
    list->items.clear();
  }
  for (const auto& dict : dicts_) drop_dict(*dict);
  for (const auto& space : namespaces_) drop_dict(space->attributes);
  for (const auto& scope : scopes_) {
    for (auto& variable : scope->variables) held.push_back(std::move(variable.second));
    scope->variables.clear();
  }
}

void Interpreter::set_global(const std::string& name, Value value) {
  const Symbol symbol = program_->symbols.find(name);
  if (symbol >= 0) globals_->set(symbol, std::move(value));
}

Text Interpreter::render() {
  Text out;
  out_ = &out;
  execute(program_->body, std::make_shared<Scope>(globals_));
  out_ = nullptr;
  return out;
}

void Interpreter::step(int line) {
  line_ = line;
  if (++steps_ > limits_.steps) fail("the template runs for more than {} steps", limits_.steps);
}

void Interpreter::charge(size_t bytes) {
  bytes_ += bytes;
  if (bytes_ > limits_.total_bytes) {
    fail("the template makes more than {} bytes of values", limits_.total_bytes);
  }
}

Value Interpreter::string(Text text) {
  if (text.bytes.size() > limits_.output_bytes) {
    fail("a string of the template is longer than {} bytes", limits_.output_bytes);
  }
  charge(text.bytes.size() + 64);
  return Value(std::move(text));
}

Value Interpreter::list(std::vector<Value> items) {
  charge(items.size() * sizeof(Value) + 64);
  return Value::list(std::move(items));
}

void Interpreter::write(const Text& text) {
  if (out_->bytes.size() + text.bytes.size() > limits_.output_bytes) {
    fail("the output is longer than {} bytes", limits_.output_bytes);
  }
  charge(text.bytes.size());
  out_->append(text);
}

Interpreter::Flow Interpreter::execute(const Block& block, const std::shared_ptr<Scope>& scope) {
  for (const auto& stmt : block) {
    const Flow flow = execute(*stmt, scope);
    if (flow != Flow::kNormal) return flow;
  }
  return Flow::kNormal;
}

Interpreter::Flow Interpreter::execute(const Stmt& stmt, const std::shared_ptr<Scope>& scope) {
  step(stmt.line);
  switch (stmt.kind) {
    case StmtKind::kText:
      charge(stmt.text.size());
      if (out_->bytes.size() + stmt.text.size() > limits_.output_bytes) {
        fail("the output is longer than {} bytes", limits_.output_bytes);
      }
      out_->append(std::string_view(stmt.text));
      return Flow::kNormal;
    case StmtKind::kOutput: {
      const Value value = evaluate(*stmt.expr, scope);
      line_ = stmt.line;
      if (const Text* text = value.text()) {
        write(*text);
      } else {
        write(to_text(value));
      }
      return Flow::kNormal;
    }
    case StmtKind::kIf:
      return run_if(stmt, scope);
    case StmtKind::kFor:
      return run_for(stmt, scope);
    case StmtKind::kSet:
      assign(stmt.target, evaluate(*stmt.expr, scope), scope);
      return Flow::kNormal;
    case StmtKind::kSetBlock: {
      Value value = string(capture(stmt.body, scope));
      if (stmt.filter != nullptr) value = filter_block(*stmt.filter, std::move(value), scope);
      assign(stmt.target, std::move(value), scope);
      return Flow::kNormal;
    }
    case StmtKind::kMacro:
      define_macro(stmt, scope);
      return Flow::kNormal;
    case StmtKind::kCall:
      run_call(stmt, scope);
      return Flow::kNormal;
    case StmtKind::kFilter:
      write(to_text(filter_block(*stmt.filter, string(capture(stmt.body, scope)), scope)));
      return Flow::kNormal;
    case StmtKind::kWith: {
      const auto inner = std::make_shared<Scope>(scope);
      for (const auto& [target, expr] : stmt.assignments) {
        assign(target, evaluate(*expr, scope), inner);
      }
      const Deeper deeper(*this);
      return execute(stmt.body, inner);
    }
    case StmtKind::kGeneration:
      run_generation(stmt, scope);
      return Flow::kNormal;
    case StmtKind::kBreak:
      return Flow::kBreak;
    case StmtKind::kContinue:
      return Flow::kContinue;
  }
  return Flow::kNormal;
}

Interpreter::Flow Interpreter::run_if(const Stmt& stmt, const std::shared_ptr<Scope>& scope) {
  const Deeper deeper(*this);
  for (const auto& [test, body] : stmt.branches) {
    if (truthy(evaluate(*test, scope))) return execute(body, scope);
  }
  return execute(stmt.body, scope);
}

Interpreter::Flow Interpreter::run_for(const Stmt& stmt, const std::shared_ptr<Scope>& scope) {
  const Deeper deeper(*this);
  loop_over(stmt, scope, evaluate(*stmt.expr, scope), 1);
  return Flow::kNormal;
}

void Interpreter::loop_over(
    const Stmt& stmt, const std::shared_ptr<Scope>& scope, const Value& iterable, size_t depth
) {
  line_ = stmt.line;
  auto loop = std::make_shared<Loop>();
  loop->items = iterate(iterable);
  loop->depth = depth;
  charge(loop->items.size() * sizeof(Value));
  if (stmt.filter != nullptr) {
    std::vector<Value> kept;
    for (Value& item : loop->items) {
      const auto inner = std::make_shared<Scope>(scope);
      assign(stmt.target, item, inner);
      if (truthy(evaluate(*stmt.filter, inner))) kept.push_back(std::move(item));
    }
    loop->items = std::move(kept);
  }
  if (loop->items.empty()) {
    execute(stmt.other, std::make_shared<Scope>(scope));
    return;
  }
  const Symbol loop_symbol = program_->symbols.find("loop");
  if (stmt.recursive) {
    loop->call = std::make_shared<RecursiveLoop>(stmt, scope, depth);
    scopes_.push_back(scope);
  }
  std::shared_ptr<Scope> inner;
  for (loop->index = 0; loop->index < loop->items.size(); ++loop->index) {
    step(stmt.line);
    if (inner == nullptr || inner.use_count() > 1) {  // a macro may have kept the last one
      inner = std::make_shared<Scope>(scope);
    } else {
      inner->variables.clear();
    }
    if (loop_symbol >= 0) inner->set(loop_symbol, Value(loop));
    assign(stmt.target, loop->items[loop->index], inner);
    if (execute(stmt.body, inner) == Flow::kBreak) break;
  }
}

void Interpreter::run_generation(const Stmt& stmt, const std::shared_ptr<Scope>& scope) {
  const Deeper deeper(*this);
  const size_t begin = out_->bytes.size();
  execute(stmt.body, std::make_shared<Scope>(scope));
  out_->mark(begin, out_->bytes.size(), MarkKind::kGeneration);
}

void Interpreter::define_macro(const Stmt& stmt, const std::shared_ptr<Scope>& scope) {
  scopes_.push_back(scope);
  scope->set(
      stmt.target.symbol,
      Value(std::static_pointer_cast<Callable>(
          std::make_shared<Macro>(stmt, scope, program_->symbols.name(stmt.target.symbol))
      ))
  );
}

void Interpreter::run_call(const Stmt& stmt, const std::shared_ptr<Scope>& scope) {
  const Deeper deeper(*this);
  const Value callee = evaluate(*stmt.expr->children[0], scope);
  Arguments arguments = evaluate_arguments(*stmt.expr, scope);
  scopes_.push_back(scope);
  arguments.named.emplace_back(
      "caller",
      Value(std::static_pointer_cast<Callable>(std::make_shared<Macro>(stmt, scope, "caller")))
  );
  line_ = stmt.line;
  write(to_text(call(callee, arguments)));
}

Text Interpreter::capture(const Block& block, const std::shared_ptr<Scope>& scope) {
  const Deeper deeper(*this);
  Text out;
  Text* outer = std::exchange(out_, &out);
  try {
    execute(block, std::make_shared<Scope>(scope));
  } catch (...) {
    out_ = outer;
    throw;
  }
  out_ = outer;
  return out;
}

void Interpreter::assign(const Target& target, Value value, const std::shared_ptr<Scope>& scope) {
  if (!target.parts.empty()) {
    const std::vector<Value> items = iterate(value);
    if (items.size() != target.parts.size()) {
      fail("cannot unpack {} values into {} names", items.size(), target.parts.size());
    }
    for (size_t i = 0; i < items.size(); ++i) assign(target.parts[i], items[i], scope);
    return;
  }
  if (target.attribute.empty()) {
    scope->set(target.symbol, std::move(value));
    return;
  }
  const Value* object = scope->find(target.symbol);
  if (object == nullptr || object->space() == nullptr) {
    fail("cannot assign attribute on non-namespace object");
  }
  object->space()->attributes.set(target.attribute, std::move(value));
}

Value Interpreter::call_macro(
    const Stmt& stmt,
    const std::shared_ptr<Scope>& scope,
    std::string_view name,
    Arguments& arguments
) {
  const auto inner = std::make_shared<Scope>(scope);
  std::vector<std::pair<std::string, Value>> named = std::move(arguments.named);
  const auto take_named = [&](const std::string& key) -> std::optional<Value> {
    const auto at = std::ranges::find(named, key, &std::pair<std::string, Value>::first);
    if (at == named.end()) return std::nullopt;
    Value value = std::move(at->second);
    named.erase(at);
    return value;
  };
  const size_t given = arguments.positional.size();
  for (size_t i = 0; i < stmt.parameters.size(); ++i) {
    const Parameter& parameter = stmt.parameters[i];
    const std::string& key = program_->symbols.name(parameter.symbol);
    Value value;
    if (i < given) {
      value = arguments.positional[i];
    } else if (auto by_name = take_named(key)) {
      value = std::move(*by_name);
    } else if (parameter.fallback != nullptr) {
      value = evaluate(*parameter.fallback, inner);
    } else {
      value = Value::undefined(fmt::format("parameter '{}' was not provided", key));
    }
    inner->set(parameter.symbol, std::move(value));
  }
  if (stmt.needs.caller) {
    auto caller = take_named("caller");
    const Symbol symbol = program_->symbols.find("caller");
    // A call block sees the caller of the macro around it.
    if (caller || stmt.kind == StmtKind::kMacro) {
      inner->set(symbol, caller ? std::move(*caller) : Value::undefined("No caller defined"));
    }
  }
  if (stmt.needs.kwargs) {
    auto dict = std::make_shared<Dict>();
    for (auto& [key, value] : named) dict->set(key, std::move(value));
    named.clear();
    inner->set(program_->symbols.find("kwargs"), Value(std::move(dict)));
  }
  if (!named.empty()) {
    fail("macro '{}' takes no keyword argument '{}'", name, named.front().first);
  }
  if (stmt.needs.varargs) {
    std::vector<Value> rest;
    for (size_t i = stmt.parameters.size(); i < given; ++i) rest.push_back(arguments.positional[i]);
    inner->set(program_->symbols.find("varargs"), Value::tuple(std::move(rest)));
  } else if (given > stmt.parameters.size()) {
    fail("macro '{}' takes not more than {} argument(s)", name, stmt.parameters.size());
  }
  return string(capture(stmt.body, inner));
}

}  // namespace hone::jinja
