// The syntax tree of a template.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/text/jinja/value.h"

namespace hone::jinja {

using Symbol = int32_t;  // an interned variable name

// Interned names.
class SymbolTable {
 public:
  Symbol intern(const std::string& name) {
    const auto [at, inserted] = ids_.try_emplace(name, static_cast<Symbol>(names_.size()));
    if (inserted) names_.push_back(name);
    return at->second;
  }
  // -1 when the template never uses the name.
  [[nodiscard]] Symbol find(const std::string& name) const {
    const auto at = ids_.find(name);
    return at == ids_.end() ? -1 : at->second;
  }
  [[nodiscard]] const std::string& name(Symbol symbol) const { return names_[symbol]; }

 private:
  std::unordered_map<std::string, Symbol> ids_;
  std::vector<std::string> names_;
};

enum class ExprKind : uint8_t {
  kConstant,   // constant
  kName,       // symbol
  kList,       // children
  kTuple,      // children
  kDict,       // children: key, value, key, value ...
  kAttribute,  // children[0].name
  kItem,       // children[0][children[1]]
  kSlice,      // children: object, start, stop, step (null: not given)
  kCall,       // children[0](arguments)
  kFilter,     // children[0] | name(arguments); children[0] is null inside {% filter %}
  kTest,       // children[0] is name(arguments)
  kUnary,      // op children[0]
  kBinary,     // children[0] op children[1]
  kCompare,    // children[0] compares[0] children[1] compares[1] children[2] ...
  kConcat,     // children joined by ~
  kAnd,
  kOr,
  kNot,
  kCondition,  // children: test, then, else (null: undefined)
};

enum class Op : uint8_t {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kModulo,
  kPower,
  kNegate,
  kPlus,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn,
  kNotIn,
};

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

struct Argument {
  std::string name;  // empty: positional
  int stars = 0;     // 1: *list, 2: **dict
  ExprPtr value;
};

struct Expr {
  ExprKind kind;
  int line = 0;
  int height = 1;  // of the tree below, limited by the parser
  Op op = Op::kAdd;
  Symbol symbol = -1;
  Value constant;
  std::string name;
  std::vector<Op> compares;
  std::vector<ExprPtr> children;
  std::vector<Argument> arguments;
};

// What an assignment writes to.
struct Target {
  int line = 0;
  Symbol symbol = -1;         // a name, or the namespace of an attribute
  std::string attribute;      // not empty: namespace attribute
  std::vector<Target> parts;  // not empty: unpacking
};

enum class StmtKind : uint8_t {
  kText,        // text
  kOutput,      // {{ expr }}
  kIf,          // branches; body is the else
  kFor,         // target in expr if filter: body, else: other
  kSet,         // target = expr
  kSetBlock,    // target = body, through `filter`
  kMacro,       // target.symbol (parameters): body
  kCall,        // {% call(parameters) expr %} body
  kFilter,      // {% filter %} body
  kWith,        // parameters as assignments: body
  kGeneration,  // body
  kBreak,
  kContinue,
};

struct Stmt;
using Block = std::vector<std::unique_ptr<Stmt>>;

struct Parameter {
  Symbol symbol;
  ExprPtr fallback;  // null: none
};

// What a macro body may ask for beside its parameters.
struct MacroNeeds {
  bool varargs = false;
  bool kwargs = false;
  bool caller = false;
};

struct Stmt {
  StmtKind kind;
  int line = 0;
  std::string text;
  Target target;
  ExprPtr expr;
  ExprPtr filter;
  std::vector<std::pair<ExprPtr, Block>> branches;
  std::vector<Parameter> parameters;
  std::vector<std::pair<Target, ExprPtr>> assignments;
  MacroNeeds needs;
  bool recursive = false;
  Block body;
  Block other;
};

struct Program {
  SymbolTable symbols;
  Block body;
};

}  // namespace hone::jinja
