#include "runtime/text/jinja/lexer.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "runtime/text/jinja/python_text.h"
#include "runtime/text/unicode/utf8.h"

namespace hone::jinja {
namespace {

constexpr auto kOperators =
    std::to_array<std::string_view>({"//", "**", "==", "!=", ">=", "<=", "+", "-", "/",
                                     "*",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                     ">",  "<",  "=",  ".",  ":",  "|",  ",", ";"});

std::string normalize_newlines(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out += source[i];
      continue;
    }
    out += '\n';
    if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

bool digit(char c) {
  return c >= '0' && c <= '9';
}

class Lexer {
 public:
  explicit Lexer(std::string text) : source_(std::move(text)), text_(source_) {}

  std::vector<Token> run() {
    while (at_ < text_.size()) {
      const size_t tag = next_tag();
      if (tag == std::string_view::npos) {
        data(text_.substr(at_));
        advance(text_.size());
        break;
      }
      const char kind = text_[tag + 1];
      const char sign = peek(tag + 2) == '-' || peek(tag + 2) == '+' ? text_[tag + 2] : '\0';
      data(left_stripped(text_.substr(at_, tag - at_), sign, kind == '{'));
      advance(tag);
      const size_t open = tag + 2 + (sign != '\0' ? 1 : 0);
      if (kind == '#') {
        comment(open);
      } else if (kind == '%' && raw(open)) {
        continue;
      } else {
        this->tag(open, kind);
      }
    }
    add(TokenKind::kEnd, "");
    return std::move(tokens_);
  }

 private:
  [[noreturn]] void fail(std::string message) const {
    throw SyntaxFault{line_, std::move(message)};
  }
  [[nodiscard]] char peek(size_t at) const { return at < text_.size() ? text_[at] : '\0'; }
  void add(TokenKind kind, std::string text) { tokens_.push_back({kind, std::move(text), line_}); }
  void data(std::string_view text) {
    if (!text.empty()) add(TokenKind::kData, std::string(text));
  }
  // Moves on and counts lines; remembers whether a line starts at the new place.
  void advance(size_t to) {
    line_ += static_cast<int>(std::count(text_.begin() + at_, text_.begin() + to, '\n'));
    if (to > at_) line_starting_ = text_[to - 1] == '\n';
    at_ = to;
  }

  [[nodiscard]] size_t next_tag() const {
    for (size_t at = at_; (at = text_.find('{', at)) != std::string_view::npos; ++at) {
      const char next = peek(at + 1);
      if (next == '{' || next == '%' || next == '#') return at;
    }
    return std::string_view::npos;
  }

  [[nodiscard]] size_t skip_space(size_t at) const {
    while (at < text_.size()) {
      const CodePoint c = utf8_decode(text_, at);
      if (!is_python_space(c.value)) break;
      at += c.size;
    }
    return at;
  }

  // Text before a tag: "-" strips all white space, lstrip_blocks the indentation of a block.
  std::string_view left_stripped(std::string_view text, char sign, bool variable) const {
    if (sign == '-') {
      while (!text.empty()) {
        const size_t last = utf8_previous(text, text.size());
        if (!is_python_space(utf8_decode(text, last).value)) break;
        text = text.substr(0, last);
      }
      return text;
    }
    if (sign == '+' || variable) return text;
    const size_t line = text.rfind('\n') + 1;  // 0 when there is none
    if (line == 0 && !line_starting_) return text;
    for (size_t at = line; at < text.size();) {
      const CodePoint c = utf8_decode(text, at);
      if (!is_python_space(c.value)) return text;
      at += c.size;
    }
    return text.substr(0, line);
  }

  // Where the text goes on after a block's or comment's end at `close` ("%}", maybe after a sign).
  [[nodiscard]] size_t after_close(size_t close, char sign) const {
    const size_t end = close + 2;
    if (sign == '-') return skip_space(end);
    return sign != '+' && peek(end) == '\n' ? end + 1 : end;
  }

  void comment(size_t open) {
    const size_t close = text_.find("#}", open);
    if (close == std::string_view::npos) fail("Missing end of comment tag");
    const char before = close > open ? text_[close - 1] : '\0';
    advance(after_close(close, before));
  }

  // {% raw %}...{% endraw %}; false when the tag is another one.
  bool raw(size_t open) {
    size_t at = skip_space(open);
    if (text_.substr(at, 3) != "raw") return false;
    at = skip_space(at + 3);
    if (text_.substr(at, 3) == "-%}") {
      at = skip_space(at + 3);
    } else if (text_.substr(at, 2) == "%}") {
      at += 2;
    } else {
      return false;
    }
    advance(at);
    for (size_t tag = at; (tag = text_.find("{%", tag)) != std::string_view::npos; tag += 2) {
      const char next = peek(tag + 2);
      const char sign = next == '-' || next == '+' ? next : '\0';
      size_t end = skip_space(tag + 2 + (sign != '\0' ? 1 : 0));
      if (text_.substr(end, 6) != "endraw") continue;
      end = skip_space(end + 6);
      const char end_sign = peek(end) == '-' || peek(end) == '+' ? text_[end] : '\0';
      if (end_sign != '\0') ++end;
      if (text_.substr(end, 2) != "%}") continue;
      data(left_stripped(text_.substr(at, tag - at), sign, false));
      advance(after_close(end, end_sign));
      return true;
    }
    fail("Missing end of raw directive");
  }

  // A block or variable tag: its tokens up to the end.
  void tag(size_t open, char kind) {
    const bool block = kind == '%';
    add(block ? TokenKind::kBlockBegin : TokenKind::kVariableBegin, "");
    advance(open);
    std::string closers;  // of the brackets that are open
    while (true) {
      advance(skip_space(at_));
      if (at_ >= text_.size()) fail("unexpected end of template inside a tag");
      if (closers.empty() && tag_end(block)) return;
      const char c = text_[at_];
      if (digit(c)) {
        number();
      } else if (c == '"' || c == '\'') {
        string(c);
      } else if (is_word(utf8_decode(text_, at_).value)) {
        name();
      } else {
        op(closers);
      }
    }
  }

  bool tag_end(bool block) {
    const std::string_view close = block ? "%}" : "}}";
    const char sign = text_[at_];
    const bool signed_end =
        (sign == '-' || (sign == '+' && block)) && text_.substr(at_ + 1, 2) == close;
    if (!signed_end && text_.substr(at_, 2) != close) return false;
    add(block ? TokenKind::kBlockEnd : TokenKind::kVariableEnd, "");
    if (signed_end) {
      advance(after_close(at_ + 1, sign));
    } else {
      advance(block ? after_close(at_, '\0') : at_ + 2);
    }
    return true;
  }

  void op(std::string& closers) {
    for (const std::string_view text : kOperators) {
      if (!text_.substr(at_).starts_with(text)) continue;
      if (text == "(") closers += ')';
      if (text == "[") closers += ']';
      if (text == "{") closers += '}';
      if (text == ")" || text == "]" || text == "}") {
        if (closers.empty()) fail(fmt::format("unexpected '{}'", text));
        if (closers.back() != text[0]) {
          fail(fmt::format("unexpected '{}', expected '{}'", text, closers.back()));
        }
        closers.pop_back();
      }
      add(TokenKind::kOperator, std::string(text));
      advance(at_ + text.size());
      return;
    }
    fail(fmt::format(
        "unexpected char {}", string_repr(text_.substr(at_, utf8_decode(text_, at_).size))
    ));
  }

  void name() {
    size_t end = at_;
    while (end < text_.size()) {
      const CodePoint c = utf8_decode(text_, end);
      if (!is_word(c.value)) break;
      end += c.size;
    }
    add(TokenKind::kName, std::string(text_.substr(at_, end - at_)));
    advance(end);
  }

  // Digits with single underscores between them.
  [[nodiscard]] size_t digits(size_t at) const {
    while (digit(peek(at)) || (peek(at) == '_' && digit(peek(at + 1)))) ++at;
    return at;
  }

  void number() {
    const char second = static_cast<char>(peek(at_ + 1) | 32);
    if (text_[at_] == '0' && (second == 'x' || second == 'o' || second == 'b')) {
      size_t end = at_ + 2;
      while (is_word(static_cast<char32_t>(peek(end))) && peek(end) > 0) ++end;
      const int base = second == 'x' ? 16 : second == 'o' ? 8 : 2;
      const auto value = parse_int(text_.substr(at_, end - at_), base);
      if (!value) fail(fmt::format("bad number {}", text_.substr(at_, end - at_)));
      add(TokenKind::kInteger, fmt::format("{}", *value));
      advance(end);
      return;
    }
    size_t end = digits(at_);
    bool real = false;
    if (peek(end) == '.' && digit(peek(end + 1))) {
      end = digits(end + 1);
      real = true;
    }
    if ((peek(end) | 32) == 'e') {
      size_t exponent = end + 1;
      if (peek(exponent) == '+' || peek(exponent) == '-') ++exponent;
      if (digit(peek(exponent))) {
        end = digits(exponent);
        real = true;
      }
    }
    std::string text(text_.substr(at_, end - at_));
    std::erase(text, '_');
    add(real ? TokenKind::kFloat : TokenKind::kInteger, std::move(text));
    advance(end);
  }

  void string(char quote) {
    std::string value;
    size_t at = at_ + 1;
    while (true) {
      if (at >= text_.size()) fail(fmt::format("string without its closing {}", quote));
      const char c = text_[at];
      if (c == quote) break;
      if (c != '\\') {
        value += c;
        ++at;
        continue;
      }
      at = escape(at + 1, value);
    }
    add(TokenKind::kString, std::move(value));
    advance(at + 1);
  }

  // A Python escape sequence after its backslash; returns what follows it.
  size_t escape(size_t at, std::string& value) {
    const char c = peek(at);
    const auto simple = [&](char out) {
      value += out;
      return at + 1;
    };
    switch (c) {
      case '\0':
        fail("string ends with a backslash");
      case '\n':
        return at + 1;
      case 'n':
        return simple('\n');
      case 't':
        return simple('\t');
      case 'r':
        return simple('\r');
      case 'a':
        return simple('\a');
      case 'b':
        return simple('\b');
      case 'f':
        return simple('\f');
      case 'v':
        return simple('\v');
      case '\\':
      case '\'':
      case '"':
        return simple(c);
      case 'x':
        return hex_escape(at + 1, 2, value);
      case 'u':
        return hex_escape(at + 1, 4, value);
      case 'U':
        return hex_escape(at + 1, 8, value);
      default:
        break;
    }
    if (c >= '0' && c <= '7') {
      char32_t code = 0;
      for (int i = 0; i < 3 && peek(at) >= '0' && peek(at) <= '7'; ++i) {
        code = code * 8 + (text_[at++] - '0');
      }
      utf8_append(value, code);
      return at;
    }
    value += '\\';  // not an escape: both characters stay
    return at;
  }

  size_t hex_escape(size_t at, int digits, std::string& value) {
    char32_t code = 0;
    for (int i = 0; i < digits; ++i, ++at) {
      const char c = peek(at);
      if (digit(c)) {
        code = code * 16 + (c - '0');
      } else if ((c | 32) >= 'a' && (c | 32) <= 'f') {
        code = code * 16 + ((c | 32) - 'a' + 10);
      } else {
        fail("truncated escape sequence in a string");
      }
    }
    // A surrogate pair written as two escapes is one character.
    if (digits == 4 && code >= 0xD800 && code < 0xDC00 && text_.substr(at, 2) == "\\u") {
      std::string low;
      char32_t second = 0;
      for (size_t i = at + 2; i < at + 6; ++i) {
        const char c = peek(i);
        second = second * 16 + (digit(c) ? c - '0' : (c | 32) - 'a' + 10);
      }
      if (second >= 0xDC00 && second < 0xE000) {
        utf8_append(value, 0x10000 + ((code - 0xD800) << 10) + (second - 0xDC00));
        return at + 6;
      }
    }
    if (code > 0x10FFFF) fail("character out of range in a string");
    utf8_append(value, code);
    return at;
  }

  std::string source_;
  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
  bool line_starting_ = true;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(std::string_view source) {
  return Lexer(normalize_newlines(source)).run();
}

}  // namespace hone::jinja
