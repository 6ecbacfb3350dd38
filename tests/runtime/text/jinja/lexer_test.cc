#include "runtime/text/jinja/lexer.h"

#include <gtest/gtest.h>

namespace hone::jinja {
namespace {

// The data between tags, joined by '|'.
std::string data_of(std::string_view source) {
  std::string out;
  for (const Token& token : tokenize(source)) {
    if (token.kind == TokenKind::kData) out += token.text;
    if (token.kind == TokenKind::kBlockBegin || token.kind == TokenKind::kVariableBegin) out += '|';
  }
  return out;
}

std::string tokens_of(std::string_view source) {
  std::string out;
  for (const Token& token : tokenize(source)) {
    if (token.kind == TokenKind::kEnd) break;
    if (!out.empty()) out += ' ';
    out += token.text.empty() ? "." : token.text;
  }
  return out;
}

TEST(Lexer, TrimBlocksTakesOneNewline) {
  EXPECT_EQ(data_of("a\n{% x %}\n\nb"), "a\n|\nb");
  EXPECT_EQ(data_of("{{ x }}\nb"), "|\nb");
  EXPECT_EQ(data_of("{% x +%}\nb"), "|\nb");
  EXPECT_EQ(data_of("{# c #}\nb"), "b");
}

TEST(Lexer, LstripBlocksTakesIndentationOfItsOwnLine) {
  EXPECT_EQ(data_of("a\n \t{% x %}"), "a\n|");
  EXPECT_EQ(data_of("  {% x %}"), "|");
  EXPECT_EQ(data_of("a  {% x %}"), "a  |");
  EXPECT_EQ(data_of("  {%+ x %}"), "  |");
  EXPECT_EQ(data_of("  {{ x }}"), "  |");
  EXPECT_EQ(data_of("{% x %}\n  {% y %}"), "||");
  EXPECT_EQ(data_of("{{ x }}  {% y %}"), "|  |");
}

TEST(Lexer, MinusTakesAllWhiteSpace) {
  EXPECT_EQ(data_of("a \n\t {%- x -%} \n\n b"), "a|b");
  EXPECT_EQ(data_of("a\xC2\xA0{{- x -}}\xE3\x80\x80z"), "a|z");
  EXPECT_EQ(data_of("a {#- c -#} b"), "ab");
}

TEST(Lexer, OneFinalNewlineIsDropped) {
  EXPECT_EQ(data_of("a\n\n"), "a\n");
  EXPECT_EQ(data_of("a\r\n"), "a");
  EXPECT_EQ(data_of("a\r\nb\rc"), "a\nb\nc");
}

TEST(Lexer, BracketsHideTheEnd) {
  EXPECT_EQ(tokens_of("{{ {'a': {}} }}"), ". { a : { } } .");
  EXPECT_EQ(tokens_of("{{ '}}' }}"), ". }} .");
  EXPECT_EQ(tokens_of("{% x['%}'] %}"), ". x [ %} ] .");
}

TEST(Lexer, Numbers) {
  EXPECT_EQ(
      tokens_of("{{ 1 1.5 1e3 1.5E-7 1_000 0x1F 0b11 0o17 x.1.2 }}"),
      ". 1 1.5 1e3 1.5E-7 1000 31 3 15 x . 1.2 ."
  );
}

TEST(Lexer, Strings) {
  EXPECT_EQ(
      tokens_of(R"({{ 'a\n\t\\\'\"\x41\u00e9\U0001F600\101\q' }})"),
      ". a\n\t\\'\"A\xC3\xA9\xF0\x9F\x98\x80"
      "A\\q ."
  );
  EXPECT_EQ(tokens_of(R"({{ '\ud83d\ude00' }})"), ". \xF0\x9F\x98\x80 .");
  EXPECT_EQ(tokens_of("{{ 'a\\\nb' }}"), ". ab .");
}

TEST(Lexer, LinesAreCounted) {
  const auto tokens = tokenize("a\n{{\n\nx }}\n{# \n #}{{ y }}");
  EXPECT_EQ(tokens[2].text, "x");
  EXPECT_EQ(tokens[2].line, 4);
  EXPECT_EQ(tokens[tokens.size() - 3].text, "y");
  EXPECT_EQ(tokens[tokens.size() - 3].line, 6);
}

TEST(Lexer, FaultsHaveLines) {
  const auto fault_of = [](std::string_view source) {
    try {
      tokenize(source);
    } catch (const SyntaxFault& fault) {
      return std::to_string(fault.line) + " " + fault.message;
    }
    return std::string("none");
  };
  EXPECT_EQ(fault_of("a\n{# x"), "2 Missing end of comment tag");
  EXPECT_EQ(fault_of("{% raw %}x"), "1 Missing end of raw directive");
  EXPECT_EQ(fault_of("\n{{ x"), "2 unexpected end of template inside a tag");
  EXPECT_EQ(fault_of("{{ 'x }}"), "1 string without its closing '");
  EXPECT_EQ(fault_of("{{ (x] }}"), "1 unexpected ']', expected ')'");
  EXPECT_EQ(fault_of("{{ x) }}"), "1 unexpected ')'");
  EXPECT_EQ(fault_of("{{ $ }}"), "1 unexpected char '$'");
  EXPECT_EQ(fault_of("{{ '\\u12' }}"), "1 truncated escape sequence in a string");
  EXPECT_EQ(fault_of("{{ '\\"), "1 string ends with a backslash");
}

}  // namespace
}  // namespace hone::jinja
