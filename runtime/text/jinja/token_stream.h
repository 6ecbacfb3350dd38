// The parser's view of the tokens.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "runtime/text/jinja/lexer.h"

namespace hone::jinja {

class TokenStream {
 public:
  explicit TokenStream(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  [[nodiscard]] const Token& now() const { return tokens_[at_]; }
  [[nodiscard]] const Token& ahead() const {
    return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_];
  }
  [[nodiscard]] bool is(TokenKind kind) const { return now().kind == kind; }
  [[nodiscard]] bool is_op(std::string_view text) const {
    return now().kind == TokenKind::kOperator && now().text == text;
  }
  [[nodiscard]] bool is_name(std::string_view text) const {
    return now().kind == TokenKind::kName && now().text == text;
  }
  const Token& next() {
    const Token& token = tokens_[at_];
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  bool accept_op(std::string_view text) {
    if (!is_op(text)) return false;
    next();
    return true;
  }
  bool accept_name(std::string_view text) {
    if (!is_name(text)) return false;
    next();
    return true;
  }
  void expect_op(std::string_view text) {
    if (!accept_op(text)) fail(fmt::format("expected '{}', got {}", text, describe()));
  }
  void expect_name(std::string_view text) {
    if (!accept_name(text)) fail(fmt::format("expected '{}', got {}", text, describe()));
  }
  std::string expect_any_name() {
    if (!is(TokenKind::kName)) fail(fmt::format("expected a name, got {}", describe()));
    return next().text;
  }
  [[noreturn]] void fail(std::string message) const {
    throw SyntaxFault{now().line, std::move(message)};
  }
  [[nodiscard]] std::string describe() const {
    switch (now().kind) {
      case TokenKind::kBlockEnd:
        return "'%}'";
      case TokenKind::kVariableEnd:
        return "'}}'";
      case TokenKind::kEnd:
        return "the end of the template";
      case TokenKind::kData:
        return "text";
      default:
        return fmt::format("'{}'", now().text);
    }
  }

 private:
  std::vector<Token> tokens_;
  size_t at_ = 0;
};

}  // namespace hone::jinja
