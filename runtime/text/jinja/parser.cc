#include "runtime/text/jinja/parser.h"

#include <algorithm>
#include <initializer_list>

#include "runtime/text/jinja/expression_parser.h"
#include "runtime/text/jinja/token_stream.h"
#include "runtime/text/unicode/utf8.h"

namespace hone::jinja {
namespace {

constexpr int kMaxNesting = 60;  // of statements

class Parser {
 public:
  explicit Parser(std::string_view source)
      : tokens_(tokenize(source)),
        program_(std::make_shared<Program>()),
        expressions_(tokens_, program_->symbols) {}

  std::shared_ptr<const Program> run() {
    program_->body = block({});
    if (!tokens_.is(TokenKind::kEnd)) {
      tokens_.next();
      tokens_.fail(fmt::format("unexpected tag {}", tokens_.describe()));
    }
    return program_;
  }

 private:
  // Statements up to one of the `ends` (which stays, after its "{%") or the end of the text.
  Block block(std::initializer_list<std::string_view> ends) {
    if (++nesting_ > kMaxNesting) {
      tokens_.fail(fmt::format("blocks nested deeper than {}", kMaxNesting));
    }
    Block out;
    while (!tokens_.is(TokenKind::kEnd)) {
      if (tokens_.is(TokenKind::kData)) {
        auto text = make(StmtKind::kText);
        text->text = tokens_.next().text;
        out.push_back(std::move(text));
      } else if (tokens_.is(TokenKind::kVariableBegin)) {
        tokens_.next();
        auto output = make(StmtKind::kOutput);
        output->expr = expressions_.tuple();
        if (!tokens_.is(TokenKind::kVariableEnd)) {
          tokens_.fail(fmt::format("expected '}}}}', got {}", tokens_.describe()));
        }
        tokens_.next();
        out.push_back(std::move(output));
      } else {
        const Token& name = tokens_.ahead();
        if (name.kind == TokenKind::kName && std::ranges::find(ends, name.text) != ends.end()) {
          tokens_.next();
          --nesting_;
          return out;
        }
        if (ends.size() == 0 && name.kind == TokenKind::kName && name.text.starts_with("end"))
          break;
        tokens_.next();
        out.push_back(statement());
      }
    }
    if (ends.size() > 0) {
      tokens_.fail(fmt::format("the template ends before {{% {} %}}", *(ends.end() - 1)));
    }
    --nesting_;
    return out;
  }

  std::unique_ptr<Stmt> make(StmtKind kind) const {
    auto stmt = std::make_unique<Stmt>();
    stmt->kind = kind;
    stmt->line = tokens_.now().line;
    return stmt;
  }

  void block_end() {
    if (!tokens_.is(TokenKind::kBlockEnd)) {
      tokens_.fail(fmt::format("expected '%}}', got {}", tokens_.describe()));
    }
    tokens_.next();
  }

  // The body up to {% end %}, which is consumed.
  Block body_until(std::string_view end) {
    block_end();
    Block out = block({end});
    tokens_.expect_name(end);
    block_end();
    return out;
  }

  std::unique_ptr<Stmt> statement() {
    auto stmt = make(StmtKind::kText);
    const std::string name = tokens_.expect_any_name();
    if (name == "if") {
      if_statement(*stmt);
    } else if (name == "for") {
      for_statement(*stmt);
    } else if (name == "set") {
      set_statement(*stmt);
    } else if (name == "macro") {
      macro(*stmt);
    } else if (name == "call") {
      call_block(*stmt);
    } else if (name == "filter") {
      stmt->kind = StmtKind::kFilter;
      stmt->filter = expressions_.filters(nullptr, true);
      stmt->body = body_until("endfilter");
    } else if (name == "with") {
      with_statement(*stmt);
    } else if (name == "generation") {
      stmt->kind = StmtKind::kGeneration;
      const int loops = std::exchange(loops_, 0);
      stmt->body = body_until("endgeneration");
      loops_ = loops;
    } else if (name == "print") {
      stmt->kind = StmtKind::kOutput;
      stmt->expr = expressions_.tuple();
      block_end();
    } else if (name == "break" || name == "continue") {
      if (loops_ == 0) tokens_.fail(fmt::format("'{}' outside a loop", name));
      stmt->kind = name == "break" ? StmtKind::kBreak : StmtKind::kContinue;
      block_end();
    } else {
      throw SyntaxFault{
          stmt->line,
          fmt::format(
              "tag '{}' is not known or not supported in chat templates (if, for, set, macro, "
              "call, "
              "filter, with, generation, break, continue, raw are)",
              name
          )};
    }
    return stmt;
  }

  void if_statement(Stmt& stmt) {
    stmt.kind = StmtKind::kIf;
    while (true) {
      ExprPtr test = expressions_.tuple(false);
      block_end();
      Block body = block({"elif", "else", "endif"});
      stmt.branches.emplace_back(std::move(test), std::move(body));
      if (tokens_.accept_name("elif")) continue;
      if (tokens_.accept_name("else")) {
        stmt.body = body_until("endif");
        return;
      }
      tokens_.expect_name("endif");
      block_end();
      return;
    }
  }

  void for_statement(Stmt& stmt) {
    stmt.kind = StmtKind::kFor;
    stmt.target = expressions_.target(false);
    tokens_.expect_name("in");
    stmt.expr = expressions_.tuple(false);
    if (tokens_.accept_name("if")) stmt.filter = expressions_.expression();
    stmt.recursive = tokens_.accept_name("recursive");
    block_end();
    ++loops_;
    stmt.body = block({"else", "endfor"});
    --loops_;
    if (tokens_.accept_name("else")) {
      stmt.other = body_until("endfor");
      return;
    }
    tokens_.expect_name("endfor");
    block_end();
  }

  void set_statement(Stmt& stmt) {
    stmt.target = expressions_.target(true);
    if (tokens_.accept_op("=")) {
      stmt.kind = StmtKind::kSet;
      stmt.expr = expressions_.tuple();
      block_end();
      return;
    }
    stmt.kind = StmtKind::kSetBlock;
    if (tokens_.is_op("|")) stmt.filter = expressions_.filters(nullptr, false);
    stmt.body = body_until("endset");
  }

  std::vector<Parameter> parameters() {
    std::vector<Parameter> out;
    tokens_.expect_op("(");
    bool fallback = false;
    while (!tokens_.is_op(")")) {
      if (!out.empty()) {
        tokens_.expect_op(",");
        if (tokens_.is_op(")")) break;
      }
      Parameter parameter{program_->symbols.intern(tokens_.expect_any_name()), nullptr};
      if (tokens_.accept_op("=")) {
        parameter.fallback = expressions_.expression();
        fallback = true;
      } else if (fallback) {
        tokens_.fail("non-default argument follows default argument");
      }
      out.push_back(std::move(parameter));
    }
    tokens_.expect_op(")");
    return out;
  }

  // A macro's body; loops outside do not count inside.
  void macro_body(Stmt& stmt, std::string_view end) {
    const int loops = std::exchange(loops_, 0);
    const MacroNeeds outer = std::exchange(expressions_.needs, {});
    stmt.body = body_until(end);
    stmt.needs = expressions_.needs;
    expressions_.needs.varargs |= outer.varargs;
    expressions_.needs.kwargs |= outer.kwargs;
    expressions_.needs.caller |= outer.caller;
    loops_ = loops;
  }

  void macro(Stmt& stmt) {
    stmt.kind = StmtKind::kMacro;
    stmt.target.symbol = program_->symbols.intern(tokens_.expect_any_name());
    stmt.parameters = parameters();
    macro_body(stmt, "endmacro");
  }

  void call_block(Stmt& stmt) {
    stmt.kind = StmtKind::kCall;
    if (tokens_.is_op("(")) stmt.parameters = parameters();
    stmt.expr = expressions_.unary();
    if (stmt.expr->kind != ExprKind::kCall) tokens_.fail("expected a call after {% call %}");
    macro_body(stmt, "endcall");
  }

  void with_statement(Stmt& stmt) {
    stmt.kind = StmtKind::kWith;
    while (!tokens_.is(TokenKind::kBlockEnd)) {
      if (!stmt.assignments.empty()) tokens_.expect_op(",");
      Target target = expressions_.target(false, false);
      tokens_.expect_op("=");
      stmt.assignments.emplace_back(std::move(target), expressions_.expression());
    }
    stmt.body = body_until("endwith");
  }

  TokenStream tokens_;
  std::shared_ptr<Program> program_;
  ExpressionParser expressions_;
  int nesting_ = 0;
  int loops_ = 0;
};

}  // namespace

std::shared_ptr<const Program> parse_template(std::string_view source) {
  if (!utf8_valid(source)) throw SyntaxFault{1, "template is not valid UTF-8"};
  return Parser(source).run();
}

}  // namespace hone::jinja
