#include "runtime/text/regex/oniguruma.h"

#include <optional>
#include <vector>

#include <fmt/format.h>

#include "core/base/error.h"
#include "runtime/text/regex/character_class.h"
#include "runtime/text/unicode/utf8.h"

namespace hone {
namespace {

constexpr int kMaxNesting = 64;

class Translator {
 public:
  Translator(std::string_view pattern, const std::string& source)
      : pattern_(pattern), source_(source) {}

  std::string run() {
    alternatives(0);
    if (at_ < pattern_.size()) fail("unmatched ')'");
    return std::move(out_);
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    throw DataError(
        fmt::format("{}: regular expression {:?}, offset {}: {}", source_, pattern_, at_, what)
    );
  }

  [[nodiscard]] bool more() const { return at_ < pattern_.size(); }
  [[nodiscard]] char peek(size_t ahead = 0) const {
    return at_ + ahead < pattern_.size() ? pattern_[at_ + ahead] : '\0';
  }
  [[nodiscard]] bool looking_at(std::string_view text) const {
    return pattern_.substr(at_).starts_with(text);
  }
  bool accept(std::string_view text) {
    if (!looking_at(text)) return false;
    at_ += text.size();
    return true;
  }
  char32_t next_character() {
    const CodePoint c = utf8_decode(pattern_, at_);
    at_ += c.size;
    return c.value;
  }

  // Everything up to the ')' that closes the group, or the end. A bare (?i) spans the rest of its
  // group, alternatives included, so it is opened as a group here and closed at the end.
  void alternatives(int depth) {
    if (depth > kMaxNesting) fail("groups nested too deep");
    int opened = 0;
    while (more() && peek() != ')') {
      if (accept("|")) {
        out_ += '|';
        continue;
      }
      const size_t begin = out_.size();
      if (option_switch()) {
        ++opened;
        continue;
      }
      if (atom(depth)) quantifiers(begin);
    }
    out_.append(opened, ')');
  }

  // "(?i)", "(?mi-x)": returns true when one was read and opened as a group.
  bool option_switch() {
    if (!looking_at("(?")) return false;
    size_t end = at_ + 2;
    while (end < pattern_.size() && (pattern_[end] == '-' || pattern_[end] == 'i' ||
                                     pattern_[end] == 'm' || pattern_[end] == 'x')) {
      ++end;
    }
    if (end == at_ + 2 || end >= pattern_.size() || pattern_[end] != ')') return false;
    out_ += "(?" + options(pattern_.substr(at_ + 2, end - at_ - 2)) + ":";
    at_ = end + 1;
    return true;
  }

  std::string options(std::string_view letters) const {
    std::string out;
    for (const char c : letters) {
      if (c == 'x') fail("extended syntax (?x) is not supported");
      out += c == 'm' ? 's' : c;  // Ruby's m is PCRE's s
    }
    return out;
  }

  // One atom; false when it takes no quantifier.
  bool atom(int depth) {
    const char c = peek();
    if (c == '(') return group(depth);
    if (c == '[') {
      ++at_;
      out_ += bracket(depth).pcre();
      return true;
    }
    if (c == '\\') return escape();
    ++at_;
    if (c == '.' || c == '^' || c == '$') {
      out_ += c;
      return c == '.';
    }
    if (c == '*' || c == '+' || c == '?') fail("quantifier without a target");
    --at_;
    literal(next_character());
    return true;
  }

  void literal(char32_t c) {
    if (c >= 0x80) {
      utf8_append(out_, c);
    } else if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_') {
      out_ += static_cast<char>(c);
    } else {
      out_ += fmt::format("\\x{{{:02x}}}", static_cast<uint32_t>(c));
    }
  }

  bool group(int depth) {
    ++at_;
    bool quantifiable = true;
    if (accept("?")) {
      if (accept(":")) {
        out_ += "(?:";
      } else if (accept(">")) {
        out_ += "(?>";
      } else if (looking_at("=") || looking_at("!") || looking_at("<=") || looking_at("<!")) {
        const size_t size = peek() == '<' ? 2 : 1;
        out_ += "(?" + std::string(pattern_.substr(at_, size));
        at_ += size;
        quantifiable = false;
      } else if (looking_at("<")) {
        const size_t end = pattern_.find('>', at_);
        if (end == std::string_view::npos) fail("group name without '>'");
        out_ += "(?" + std::string(pattern_.substr(at_, end + 1 - at_));
        at_ = end + 1;
      } else if (accept("#")) {
        const size_t end = pattern_.find(')', at_);
        if (end == std::string_view::npos) fail("comment without ')'");
        at_ = end + 1;
        return false;
      } else {
        size_t end = at_;
        while (end < pattern_.size() && (pattern_[end] == '-' || pattern_[end] == 'i' ||
                                         pattern_[end] == 'm' || pattern_[end] == 'x')) {
          ++end;
        }
        if (end == at_ || end >= pattern_.size() || pattern_[end] != ':') {
          fail("this kind of group is not supported");
        }
        out_ += "(?" + options(pattern_.substr(at_, end - at_)) + ":";
        at_ = end + 1;
      }
    } else {
      out_ += '(';
    }
    alternatives(depth + 1);
    if (!accept(")")) fail("'(' without ')'");
    out_ += ')';
    return quantifiable;
  }

  // The quantifiers after the atom that starts at out_[begin].
  void quantifiers(size_t begin) {
    bool quantified = false;
    while (more()) {
      std::string text;
      bool interval = false;
      bool exact = false;
      if (peek() == '*' || peek() == '+' || peek() == '?') {
        text = pattern_[at_++];
      } else if (const auto braces = read_interval(exact)) {
        text = *braces;
        interval = true;
      } else {
        return;
      }
      if (quantified) wrap(begin);
      out_ += text;
      quantified = true;
      if (interval && exact && accept("?")) {  // Ruby: {n}? is an optional {n}
        wrap(begin);
        out_ += '?';
      } else if (accept("?")) {
        out_ += '?';
      } else if (!interval && accept("+")) {  // possessive; after {n,m} it is a second quantifier
        out_ += '+';
      }
    }
  }

  void wrap(size_t begin) {
    out_.insert(begin, "(?:");
    out_ += ')';
  }

  // "{n}", "{n,}", "{n,m}", "{,m}" or nothing.
  std::optional<std::string> read_interval(bool& exact) {
    if (peek() != '{') return std::nullopt;
    size_t end = at_ + 1;
    const auto digits = [&] {
      std::string out;
      while (end < pattern_.size() && pattern_[end] >= '0' && pattern_[end] <= '9') {
        out += pattern_[end++];
      }
      return out;
    };
    const std::string low = digits();
    std::string high = low;
    exact = true;
    if (end < pattern_.size() && pattern_[end] == ',') {
      ++end;
      exact = false;
      high = digits();
    }
    if (end >= pattern_.size() || pattern_[end] != '}' || (low.empty() && high.empty())) {
      return std::nullopt;
    }
    at_ = end + 1;
    if (exact) return "{" + low + "}";
    return "{" + (low.empty() ? "0" : low) + "," + high + "}";
  }

  // A backslash sequence outside brackets; false when it takes no quantifier.
  bool escape() {
    const char c = peek(1);
    switch (c) {
      case '\0':
        fail("pattern ends with a backslash");
      case 's':
      case 'S':
      case 'w':
      case 'W':
      case 'd':
      case 'D':
      case 'h':
      case 'H':
        at_ += 2;
        out_ += shorthand_set(c).pcre();
        return true;
      case 'p':
      case 'P':
        out_ += property().pcre();
        return true;
      case 'b':
      case 'B': {
        at_ += 2;
        const std::string word = shorthand_set('w').pcre();
        const char* format = c == 'b' ? "(?:(?<={0})(?!{0})|(?<!{0})(?={0}))"
                                      : "(?:(?<={0})(?={0})|(?<!{0})(?!{0}))";
        out_ += fmt::format(fmt::runtime(format), word);
        return false;
      }
      case 'A':
      case 'z':
      case 'Z':
      case 'G':
      case 'K':
        at_ += 2;
        out_ += {'\\', c};
        return false;
      case 'R':
      case 'X':
        at_ += 2;
        out_ += {'\\', c};
        return true;
      case 'N':
        at_ += 2;
        out_ += "[^\\n]";
        return true;
      case 'O':
        at_ += 2;
        out_ += "(?s:.)";
        return true;
      case 'k':
      case 'g': {
        const size_t end = pattern_.find('>', at_);
        if (peek(2) != '<' || end == std::string_view::npos) fail("reference without <name>");
        out_ += pattern_.substr(at_, end + 1 - at_);
        at_ = end + 1;
        return true;
      }
      default:
        break;
    }
    if (c >= '1' && c <= '9') {
      out_ += "(?:";
      out_ += pattern_[at_++];
      while (peek() >= '0' && peek() <= '9') out_ += pattern_[at_++];
      out_ += ')';
      return true;
    }
    literal(escaped_character());
    return true;
  }

  // \p{name}, \p{^name}, \P{name}.
  CharacterSet property() {
    const bool upper = peek(1) == 'P';
    at_ += 2;
    const size_t end = pattern_.find('}', at_);
    if (peek() != '{' || end == std::string_view::npos) fail("\\p without {name}");
    std::string_view name = pattern_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    const bool caret = name.starts_with('^');
    if (caret) name.remove_prefix(1);
    CharacterSet set = property_set(name);
    set.negated = upper != caret;
    return set;
  }

  char32_t hex(size_t digits_at_most, size_t digits_at_least) {
    char32_t value = 0;
    size_t digits = 0;
    for (; digits < digits_at_most; ++digits) {
      const char c = peek();
      if (c >= '0' && c <= '9') {
        value = value * 16 + (c - '0');
      } else if ((c | 32) >= 'a' && (c | 32) <= 'f') {
        value = value * 16 + ((c | 32) - 'a' + 10);
      } else {
        break;
      }
      ++at_;
    }
    if (digits < digits_at_least || value > 0x10FFFF) fail("bad hexadecimal character");
    return value;
  }

  // A backslash sequence that stands for one character.
  char32_t escaped_character() {
    ++at_;
    if (!more()) fail("pattern ends with a backslash");
    const char32_t c = next_character();
    switch (c) {
      case 't':
        return '\t';
      case 'n':
        return '\n';
      case 'r':
        return '\r';
      case 'f':
        return '\f';
      case 'v':
        return '\v';
      case 'a':
        return '\a';
      case 'e':
        return 0x1B;
      case 'x':
        if (accept("{")) {
          const char32_t value = hex(8, 1);
          if (!accept("}")) fail("\\x{ without }");
          return value;
        }
        return hex(2, 1);
      case 'u':
        return hex(4, 4);
      case '0': {
        char32_t value = 0;
        for (int i = 0; i < 2 && peek() >= '0' && peek() <= '7'; ++i) {
          value = value * 8 + (pattern_[at_++] - '0');
        }
        return value;
      }
      case 'c':
      case 'C':
      case 'M':
        fail("control and meta characters are not supported");
      default:
        return c;
    }
  }

  // A bracket expression after its '['.
  CharacterSet bracket(int depth) {
    if (depth > kMaxNesting) fail("character classes nested too deep");
    std::vector<CharacterSet> parts(1);
    const bool negated = accept("^");
    bool first = true;
    while (true) {
      if (!more()) fail("'[' without ']'");
      if (!first && accept("]")) break;
      if (accept("&&")) {
        parts.emplace_back();
        first = false;
        continue;
      }
      bracket_item(parts.back(), depth);
      first = false;
    }
    CharacterSet set = std::move(parts.front());
    set.also.assign(parts.begin() + 1, parts.end());
    set.negated = negated;
    return set;
  }

  void bracket_item(CharacterSet& set, int depth) {
    if (looking_at("[:")) {
      if (posix(set)) return;
    }
    if (accept("[")) {
      set.nested.push_back(bracket(depth + 1));
      return;
    }
    if (peek() == '\\') {
      const char c = peek(1);
      if (c == 'p' || c == 'P') return add(set, property());
      if (c != '\0' && std::string_view("sSwWdDhH").find(c) != std::string_view::npos) {
        at_ += 2;
        return add(set, bracket_shorthand(c));
      }
      if (c == 'R' || c == 'X') fail("\\R and \\X cannot stand in a character class");
    }
    const char32_t low = class_character();
    if (peek() == '-' && peek(1) != ']' && peek(1) != '\0' && peek(1) != '[' &&
        !(peek(1) == '&' && peek(2) == '&')) {
      const size_t dash = at_++;
      const char c = peek(1);
      const bool shorthand = peek() == '\\' && c != '\0' &&
                             std::string_view("sSwWdDhHpP").find(c) != std::string_view::npos;
      if (!shorthand) {
        const char32_t high = class_character();
        if (high < low) fail("range out of order in a character class");
        set.body += class_literal(low) + "-" + class_literal(high);
        return;
      }
      at_ = dash;
    }
    set.body += class_literal(low);
  }

  // Oniguruma counts a few characters (superscript digits, fractions) as \w outside brackets only.
  static CharacterSet bracket_shorthand(char letter) {
    if (letter != 'w' && letter != 'W') return shorthand_set(letter);
    CharacterSet set = posix_set("word");
    set.negated = letter == 'W';
    return set;
  }

  char32_t class_character() {
    if (peek() != '\\') return next_character();
    if (peek(1) == 'b') {
      at_ += 2;
      return '\b';
    }
    return escaped_character();
  }

  // [:name:] or [:^name:]; false when it is no such thing.
  bool posix(CharacterSet& set) {
    const size_t end = pattern_.find(":]", at_ + 2);
    if (end == std::string_view::npos) return false;
    std::string_view name = pattern_.substr(at_ + 2, end - at_ - 2);
    const bool negated = name.starts_with('^');
    if (negated) name.remove_prefix(1);
    for (const char c : name) {
      if (c < 'a' || c > 'z') return false;
    }
    CharacterSet named = posix_set(name);
    if (named.body.empty()) fail(fmt::format("[:{}:] is not supported", name));
    named.negated = negated;
    at_ = end + 2;
    add(set, std::move(named));
    return true;
  }

  static void add(CharacterSet& set, CharacterSet item) {
    if (item.negated) {
      set.nested.push_back(std::move(item));
    } else {
      set.body += item.body;
    }
  }

  std::string_view pattern_;
  const std::string& source_;
  size_t at_ = 0;
  std::string out_;
};

}  // namespace

std::string translate_oniguruma(std::string_view pattern, const std::string& source) {
  require_data(utf8_valid(pattern), "{}: regular expression is not valid UTF-8", source);
  return Translator(pattern, source).run();
}

}  // namespace hone
