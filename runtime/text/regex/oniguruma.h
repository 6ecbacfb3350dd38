// Translates the regular expressions of tokenizer.json, written for Oniguruma (Ruby syntax, UTF-8),
// into PCRE2's dialect.
//
// What differs and is translated: \s \w \h \v and \b (other character sets), \uHHHH, \p{^..}, long
// property names, scripts (PCRE2 takes script extensions), characters newer than PCRE2's Unicode
// version, (?m:..) (dot matches newline), (?i) in the middle of alternatives, {,n}, {n}?, {n,m}+
// and stacked quantifiers, nested character classes and && inside them.
#pragma once

#include <string>
#include <string_view>

namespace hone {

// The PCRE2 pattern, for PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE with LF as the newline. Throws
// DataError "<source>: regular expression ..., offset n: ..." for syntax that is not supported.
std::string translate_oniguruma(std::string_view pattern, const std::string& source);

}  // namespace hone
