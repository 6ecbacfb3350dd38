#include "core/json/ecma_regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "core/base/error.h"

namespace hone {

struct EcmaRegex::State {
  std::string pattern;
  pcre2_code* code = nullptr;
  pcre2_match_context* limits = nullptr;
  ~State() {
    pcre2_code_free(code);
    pcre2_match_context_free(limits);
  }
};

namespace {

// ECMA names general categories in full, PCRE2 by their letters.
std::string with_short_categories(std::string pattern) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"{Letter}", "{L}"},
      {"{Lowercase_Letter}", "{Ll}"},
      {"{Uppercase_Letter}", "{Lu}"},
      {"{Number}", "{N}"},
      {"{Decimal_Number}", "{Nd}"},
      {"{digit}", "{Nd}"},
      {"{Punctuation}", "{P}"},
      {"{Symbol}", "{S}"},
      {"{Separator}", "{Z}"}};
  for (const auto& [name, letters] : kNames) {
    for (size_t at = pattern.find(name); at != std::string::npos; at = pattern.find(name, at)) {
      if (at >= 2 && (pattern[at - 1] == 'p' || pattern[at - 1] == 'P') &&
          pattern[at - 2] == '\\') {
        pattern.replace(at, name.size(), letters);
      } else {
        ++at;
      }
    }
  }
  return pattern;
}

}  // namespace

EcmaRegex::EcmaRegex(const std::string& pattern) : state_(std::make_unique<State>()) {
  state_->pattern = pattern;
  const std::string translated = with_short_categories(pattern);
  int error = 0;
  PCRE2_SIZE offset = 0;
  // Without UCP, \d \w \b are ASCII as in ECMA; $ is the very end.
  const uint32_t options =
      PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_ALT_BSUX | PCRE2_MATCH_UNSET_BACKREF;
  state_->code = pcre2_compile(
      reinterpret_cast<PCRE2_SPTR>(translated.data()),
      translated.size(),
      options,
      &error,
      &offset,
      nullptr
  );
  if (state_->code == nullptr) {
    PCRE2_UCHAR message[128];
    pcre2_get_error_message(error, message, sizeof(message));
    throw DataError(fmt::format(
        "regular expression \"{}\": {} at offset {}",
        pattern,
        reinterpret_cast<const char*>(message),
        offset
    ));
  }
  state_->limits = pcre2_match_context_create(nullptr);
  pcre2_set_match_limit(state_->limits, 1'000'000);
}

EcmaRegex::~EcmaRegex() = default;

bool EcmaRegex::matches(std::string_view text) const {
  pcre2_match_data* data = pcre2_match_data_create(1, nullptr);
  const int result = pcre2_match(
      state_->code,
      reinterpret_cast<PCRE2_SPTR>(text.data()),
      text.size(),
      0,
      0,
      data,
      state_->limits
  );
  pcre2_match_data_free(data);
  // Broken UTF-8 matches nothing; text that makes the expression explode is an error.
  require_data(
      result >= 0 || result == PCRE2_ERROR_NOMATCH ||
          (result <= PCRE2_ERROR_UTF8_ERR1 && result >= PCRE2_ERROR_UTF8_ERR21),
      "regular expression \"{}\" takes too long on a text of {} bytes",
      state_->pattern,
      text.size()
  );
  return result >= 0;
}

}  // namespace hone
