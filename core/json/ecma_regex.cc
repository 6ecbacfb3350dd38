#include "core/json/ecma_regex.h"

#include <utility>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "core/base/error.h"

namespace hone {
namespace {

// Steps of the matcher; some tenths of a second.
constexpr uint32_t kMatchLimit = 5'000'000;

// General categories by their long names (Unicode property value aliases).
constexpr std::pair<std::string_view, std::string_view> kCategories[] = {
    {"Letter", "L"},
    {"Cased_Letter", "L&"},
    {"Uppercase_Letter", "Lu"},
    {"Lowercase_Letter", "Ll"},
    {"Titlecase_Letter", "Lt"},
    {"Modifier_Letter", "Lm"},
    {"Other_Letter", "Lo"},
    {"Mark", "M"},
    {"Combining_Mark", "M"},
    {"Nonspacing_Mark", "Mn"},
    {"Spacing_Mark", "Mc"},
    {"Enclosing_Mark", "Me"},
    {"Number", "N"},
    {"Decimal_Number", "Nd"},
    {"digit", "Nd"},
    {"Letter_Number", "Nl"},
    {"Other_Number", "No"},
    {"Punctuation", "P"},
    {"punct", "P"},
    {"Connector_Punctuation", "Pc"},
    {"Dash_Punctuation", "Pd"},
    {"Open_Punctuation", "Ps"},
    {"Close_Punctuation", "Pe"},
    {"Initial_Punctuation", "Pi"},
    {"Final_Punctuation", "Pf"},
    {"Other_Punctuation", "Po"},
    {"Symbol", "S"},
    {"Math_Symbol", "Sm"},
    {"Currency_Symbol", "Sc"},
    {"Modifier_Symbol", "Sk"},
    {"Other_Symbol", "So"},
    {"Separator", "Z"},
    {"Space_Separator", "Zs"},
    {"Line_Separator", "Zl"},
    {"Paragraph_Separator", "Zp"},
    {"Other", "C"},
    {"Control", "Cc"},
    {"cntrl", "Cc"},
    {"Format", "Cf"},
    {"Surrogate", "Cs"},
    {"Private_Use", "Co"},
    {"Unassigned", "Cn"},
};

// ECMA-262 WhiteSpace and LineTerminator.
constexpr std::string_view kSpaces =
    "\\t\\n\\x0b\\f\\r \\xa0\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}"
    "\\x{3000}\\x{feff}";

int hex_digits(std::string_view text, size_t at, size_t count) {
  if (at + count > text.size()) return -1;
  int value = 0;
  for (size_t i = at; i < at + count; ++i) {
    const char c = text[i];
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

// Rewrites what means something else in PCRE2.
class Translator {
 public:
  explicit Translator(std::string_view pattern) : in_(pattern) {}

  std::string run() {
    while (at_ < in_.size()) {
      const char c = in_[at_];
      if (c == '\\') {
        escape();
      } else if (in_class_) {
        class_character(c);
      } else if (c == '[') {
        open_class();
      } else if (c == '(') {
        open_group();
      } else if (c == '.') {
        out_ += "[^\\n\\r\\x{2028}\\x{2029}]";
        ++at_;
      } else {
        out_ += c;
        ++at_;
      }
    }
    return std::move(out_);
  }

  // A letter or syntax that ECMA-262 does not have was met.
  [[nodiscard]] bool foreign() const { return foreign_; }

 private:
  void open_group() {
    std::string_view kind = in_.substr(at_ + 1);
    out_ += '(';
    ++at_;
    if (!kind.starts_with('?')) return;
    kind.remove_prefix(1);
    // (?:x) (?=x) (?!x) (?<=x) (?<!x) (?<name>x) are all that ECMA-262 has.
    const char c = kind.empty() ? '\0' : kind.front();
    if (c != ':' && c != '=' && c != '!' && c != '<') foreign_ = true;
  }

  void open_class() {
    ++at_;
    const bool negated = in_.substr(at_).starts_with('^');
    if (negated) ++at_;
    if (in_.substr(at_).starts_with(']')) {  // [] matches nothing, [^] anything
      ++at_;
      out_ += negated ? "(?s:.)" : "(?!)";
      return;
    }
    out_ += negated ? "[^" : "[";
    in_class_ = true;
  }

  void class_character(char c) {
    ++at_;
    if (c == ']') in_class_ = false;
    // PCRE2 would read [:alpha:] and the like.
    out_ += c == '[' ? "\\[" : std::string(1, c);
  }

  void escape() {
    if (at_ + 1 == in_.size()) {
      out_ += '\\';
      ++at_;
      return;
    }
    const char c = in_[at_ + 1];
    switch (c) {
      case 's':
      case 'S':
        space(c == 'S');
        return;
      case 'p':
      case 'P':
        property();
        return;
      case 'u':
        code_unit();
        return;
      case 'v':
        out_ += "\\x0b";  // PCRE2: any vertical white space
        at_ += 2;
        return;
      default:
        break;
    }
    constexpr std::string_view kLetters = "dDwWbBtnfrcxk";
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (letter && kLetters.find(c) == std::string_view::npos) foreign_ = true;
    out_ += '\\';
    out_ += c;
    at_ += 2;
  }

  void space(bool negated) {
    at_ += 2;
    if (!in_class_) {
      out_ += negated ? "[^" : "[";
      out_ += kSpaces;
      out_ += ']';
    } else if (!negated) {
      out_ += kSpaces;
    } else {
      // The complement inside a class, as ranges between the code points of kSpaces.
      out_ +=
          "\\x00-\\x08\\x0e-\\x1f\\x21-\\x9f\\xa1-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}"
          "\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{d7ff}"
          "\\x{e000}-\\x{fefe}\\x{ff00}-\\x{10ffff}";
    }
  }

  void property() {
    const size_t close = in_.find('}', at_);
    if (at_ + 2 >= in_.size() || in_[at_ + 2] != '{' || close == std::string_view::npos) {
      foreign_ = true;  // \pL
      out_ += in_.substr(at_, 2);
      at_ += 2;
      return;
    }
    std::string_view name = in_.substr(at_ + 3, close - at_ - 3);
    for (const std::string_view key : {"General_Category=", "gc=", "Script=", "sc="}) {
      if (name.starts_with(key)) name.remove_prefix(key.size());
    }
    for (const auto& [longer, shorter] : kCategories) {
      if (name == longer) name = shorter;
    }
    out_ += in_.substr(at_, 3);
    out_ += name;
    out_ += '}';
    at_ = close + 1;
  }

  // \uXXXX, pairs of surrogates joined, and \u{X...}.
  void code_unit() {
    if (in_.substr(at_ + 2).starts_with('{')) {
      const size_t close = in_.find('}', at_);
      if (close != std::string_view::npos) {
        out_ += "\\x{" + std::string(in_.substr(at_ + 3, close - at_ - 3)) + "}";
        at_ = close + 1;
        return;
      }
    }
    int code = hex_digits(in_, at_ + 2, 4);
    if (code < 0) {  // plain "u"
      foreign_ = true;
      out_ += 'u';
      at_ += 2;
      return;
    }
    at_ += 6;
    if (code >= 0xD800 && code < 0xDC00 && in_.substr(at_).starts_with("\\u")) {
      const int low = hex_digits(in_, at_ + 2, 4);
      if (low >= 0xDC00 && low < 0xE000) {
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        at_ += 6;
      }
    }
    out_ += fmt::format("\\x{{{:x}}}", code);
  }

  std::string_view in_;
  size_t at_ = 0;
  std::string out_;
  bool in_class_ = false;
  bool foreign_ = false;
};

}  // namespace

struct EcmaRegex::State {
  std::string pattern;
  pcre2_code* code = nullptr;
  pcre2_match_context* limits = nullptr;
  ~State() {
    pcre2_code_free(code);
    pcre2_match_context_free(limits);
  }
};

EcmaRegex::EcmaRegex(const std::string& pattern) : state_(std::make_unique<State>()) {
  state_->pattern = pattern;
  const std::string translated = Translator(pattern).run();
  int error = 0;
  PCRE2_SIZE offset = 0;
  state_->code = pcre2_compile(
      reinterpret_cast<PCRE2_SPTR>(translated.data()),
      translated.size(),
      PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_MATCH_UNSET_BACKREF | PCRE2_NEVER_BACKSLASH_C,
      &error,
      &offset,
      nullptr
  );
  if (state_->code == nullptr) {
    PCRE2_UCHAR message[128];
    pcre2_get_error_message(error, message, sizeof(message));
    throw DataError(fmt::format(
        "regular expression \"{}\": {} at offset {}{}",
        pattern,
        reinterpret_cast<const char*>(message),
        offset,
        translated == pattern ? "" : " of \"" + translated + "\""
    ));
  }
  // Where the CPU has no JIT, matching falls back to the interpreter by itself.
  pcre2_jit_compile(state_->code, PCRE2_JIT_COMPLETE);
  state_->limits = pcre2_match_context_create(nullptr);
  check(state_->limits != nullptr, "pcre2_match_context_create failed");
  pcre2_set_match_limit(state_->limits, kMatchLimit);
}

EcmaRegex::~EcmaRegex() = default;

bool EcmaRegex::matches(std::string_view text) const {
  pcre2_match_data* data = pcre2_match_data_create(1, nullptr);
  check(data != nullptr, "pcre2_match_data_create failed");
  const auto attempt = [&](uint32_t options) {
    return pcre2_match(
        state_->code,
        reinterpret_cast<PCRE2_SPTR>(text.data()),
        text.size(),
        0,
        options,
        data,
        state_->limits
    );
  };
  int result = attempt(0);
  // JIT code has 32 KiB of stack; the interpreter has the heap.
  if (result == PCRE2_ERROR_JIT_STACKLIMIT) result = attempt(PCRE2_NO_JIT);
  pcre2_match_data_free(data);
  require_data(
      result >= 0 || result == PCRE2_ERROR_NOMATCH ||
          (result <= PCRE2_ERROR_UTF8_ERR1 && result >= PCRE2_ERROR_UTF8_ERR21),
      "regular expression \"{}\": takes too long on a text of {} bytes",
      state_->pattern,
      text.size()
  );
  return result >= 0;
}

bool is_ecma_regex(const std::string& pattern) {
  Translator translator(pattern);
  translator.run();
  if (translator.foreign()) return false;
  try {
    const EcmaRegex compiled(pattern);
    return true;
  } catch (const DataError&) {
    return false;
  }
}

}  // namespace hone
