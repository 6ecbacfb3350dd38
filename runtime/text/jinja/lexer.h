// Template text to tokens, with Jinja2's white space rules under the settings of Hugging Face:
// trim_blocks and lstrip_blocks on, one final newline dropped, CRLF and CR read as LF.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hone::jinja {

// A syntax error: the caller adds the source.
struct SyntaxFault {
  int line;
  std::string message;
};

enum class TokenKind : uint8_t {
  kData,  // text outside tags
  kBlockBegin,
  kBlockEnd,
  kVariableBegin,
  kVariableEnd,
  kName,
  kString,  // unescaped
  kInteger,
  kFloat,
  kOperator,
  kEnd,
};

struct Token {
  TokenKind kind;
  std::string text;
  int line;
};

// Throws SyntaxFault. The last token is kEnd.
std::vector<Token> tokenize(std::string_view source);

}  // namespace hone::jinja
