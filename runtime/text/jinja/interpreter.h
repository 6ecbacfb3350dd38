// Runs a parsed template.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/text/jinja/ast.h"
#include "runtime/text/jinja/value.h"

namespace hone::jinja {

// What one rendering may use; beyond it a Fault is thrown.
struct Limits {
  int64_t steps = 20'000'000;       // expressions and statements
  size_t output_bytes = 64U << 20;  // of the result and of any string
  size_t total_bytes = 1U << 30;    // of everything made on the way
  int depth = 600;                  // of nested evaluations, macro calls included
};

// Variables of one block, inside those of `parent`.
struct Scope {
  explicit Scope(std::shared_ptr<Scope> outer) : parent(std::move(outer)) {}
  std::shared_ptr<Scope> parent;
  std::vector<std::pair<Symbol, Value>> variables;

  void set(Symbol symbol, Value value);
  [[nodiscard]] const Value* find(Symbol symbol) const;
};

class Interpreter {
 public:
  Interpreter(std::shared_ptr<const Program> program, const Limits& limits);
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;
  // Takes lists, namespaces and scopes apart, whatever cycles the template tied.
  ~Interpreter();

  // A variable of the outermost scope. Names that the template never uses are dropped.
  void set_global(const std::string& name, Value value);
  // Throws Fault; line() then tells where.
  Text render();
  [[nodiscard]] int line() const { return line_; }

  // For filters, tests, methods and functions:
  Value call(const Value& callee, Arguments& arguments);
  Value attribute(const Value& object, std::string_view name);  // object.name
  Value item(const Value& object, const Value& key);            // object[key]
  Value apply_filter(const std::string& name, const Value& input, Arguments& arguments);
  bool apply_test(const std::string& name, const Value& input, Arguments& arguments);
  // What "for" iterates over. Throws Fault for values that are not iterable.
  std::vector<Value> iterate(const Value& value);
  // Accounts for memory; throws Fault beyond the limits.
  void charge(size_t bytes);
  Value string(Text text);
  Value list(std::vector<Value> items);
  // Must be called for a container before it is changed in place.
  void will_change(const std::shared_ptr<List>& list) { lists_.push_back(list); }
  void will_change(const std::shared_ptr<Dict>& dict) { dicts_.push_back(dict); }

 private:
  friend class Macro;
  friend class RecursiveLoop;
  enum class Flow : uint8_t { kNormal, kBreak, kContinue };
  // Counts nesting while it lives; the stack of the machine is finite.
  class Deeper {
   public:
    explicit Deeper(Interpreter& interpreter) : interpreter_(interpreter) {
      if (interpreter_.depth_ >= interpreter_.limits_.depth) {
        fail("maximum recursion depth exceeded");
      }
      ++interpreter_.depth_;
    }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;
    ~Deeper() { --interpreter_.depth_; }

   private:
    Interpreter& interpreter_;
  };

  void step(int line);
  Flow execute(const Block& block, const std::shared_ptr<Scope>& scope);
  Flow execute(const Stmt& stmt, const std::shared_ptr<Scope>& scope);
  Flow run_if(const Stmt& stmt, const std::shared_ptr<Scope>& scope);
  Flow run_for(const Stmt& stmt, const std::shared_ptr<Scope>& scope);
  void loop_over(
      const Stmt& stmt, const std::shared_ptr<Scope>& scope, const Value& iterable, size_t depth
  );
  void run_generation(const Stmt& stmt, const std::shared_ptr<Scope>& scope);
  void define_macro(const Stmt& stmt, const std::shared_ptr<Scope>& scope);
  void run_call(const Stmt& stmt, const std::shared_ptr<Scope>& scope);
  // The output of a block that is not written to the result.
  Text capture(const Block& block, const std::shared_ptr<Scope>& scope);
  void write(const Text& text);
  void assign(const Target& target, Value value, const std::shared_ptr<Scope>& scope);
  Value call_macro(
      const Stmt& stmt,
      const std::shared_ptr<Scope>& scope,
      std::string_view name,
      Arguments& arguments
  );

  Value evaluate(const Expr& expr, const std::shared_ptr<Scope>& scope);
  Value evaluate_name(const Expr& expr, const std::shared_ptr<Scope>& scope);
  Value evaluate_compare(const Expr& expr, const std::shared_ptr<Scope>& scope);
  Value evaluate_slice(const Expr& expr, const std::shared_ptr<Scope>& scope);
  Value evaluate_condition(const Expr& expr, const std::shared_ptr<Scope>& scope);
  Arguments evaluate_arguments(const Expr& expr, const std::shared_ptr<Scope>& scope);
  // A filter chain over the text of a block.
  Value filter_block(const Expr& expr, Value input, const std::shared_ptr<Scope>& scope);

  std::shared_ptr<const Program> program_;
  Limits limits_;
  std::shared_ptr<Scope> globals_;
  Text* out_ = nullptr;
  int line_ = 0;
  int depth_ = 0;
  int64_t steps_ = 0;
  size_t bytes_ = 0;
  std::vector<std::shared_ptr<Scope>> scopes_;  // that macros keep
  std::vector<std::shared_ptr<List>> lists_;    // changed in place
  std::vector<std::shared_ptr<Dict>> dicts_;
  std::vector<std::shared_ptr<Namespace>> namespaces_;

 public:
  // Called by namespace().
  void keep(std::shared_ptr<Namespace> space) { namespaces_.push_back(std::move(space)); }
};

}  // namespace hone::jinja
