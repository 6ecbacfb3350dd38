// Expressions of the template language, by recursive descent with Jinja2's precedence.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/text/jinja/ast.h"
#include "runtime/text/jinja/token_stream.h"

namespace hone::jinja {

class ExpressionParser {
 public:
  ExpressionParser(TokenStream& tokens, SymbolTable& symbols)
      : tokens_(tokens), symbols_(symbols) {}

  // `conditional`: whether "a if b else c" may follow (not after "for x in").
  ExprPtr expression(bool conditional = true);
  // One expression, or a tuple without parentheses. Ends at `stop` names too ("if", "recursive").
  ExprPtr tuple(bool conditional = true);
  // A primary with its subscripts and calls, then filters.
  ExprPtr unary(bool with_filter = true);
  // "name(..) | name(..)" applied to `input` (null: the block's text).
  ExprPtr filters(ExprPtr input, bool start_inline);
  Target target(bool with_namespace, bool with_tuple = true);

  // Which of the special names were read; the parser resets it around macro bodies.
  MacroNeeds needs;

 private:
  class Nested;
  ExprPtr condition();
  ExprPtr or_expression();
  ExprPtr and_expression();
  ExprPtr not_expression();
  ExprPtr compare();
  ExprPtr sum();
  ExprPtr concat();
  ExprPtr product();
  ExprPtr power();
  ExprPtr primary();
  ExprPtr postfix(ExprPtr node);
  ExprPtr filters_and_tests(ExprPtr node);
  ExprPtr subscript(ExprPtr node);
  ExprPtr call(ExprPtr callee);
  ExprPtr test(ExprPtr input);
  ExprPtr list();
  ExprPtr dict();
  ExprPtr parenthesized();
  ExprPtr tuple_items(bool conditional, bool explicit_parentheses);
  std::vector<Argument> arguments();
  std::string dotted_name();
  [[nodiscard]] bool tuple_ends() const;
  [[nodiscard]] ExprPtr make(ExprKind kind, int line) const;
  // Adds a child and checks the height of the tree.
  void adopt(Expr& parent, ExprPtr child);
  void take_arguments(Expr& node);
  ExprPtr binary(Op op, ExprPtr left, ExprPtr right, int line);

  TokenStream& tokens_;
  SymbolTable& symbols_;
  int depth_ = 0;
};

}  // namespace hone::jinja
