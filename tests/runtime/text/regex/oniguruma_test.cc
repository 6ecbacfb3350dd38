// Golden pieces for whole patterns: tokenize/pre_tokenizer_test.cc.
#include "runtime/text/regex/oniguruma.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "runtime/text/regex/regex.h"
#include "runtime/text/unicode/utf8.h"

namespace hone {
namespace {

std::string translated(std::string_view pattern) {
  return translate_oniguruma(pattern, "test");
}

// Every match of the pattern, each in brackets.
std::string matches(std::string_view pattern, std::string_view text) {
  const Regex regex = Regex::compile(pattern, "test");
  RegexScratch scratch;
  std::string out;
  Regex::Match match{};
  for (size_t at = 0; at <= text.size() && regex.find(text, at, scratch, match);) {
    out += "[" + std::string(text.substr(match.begin, match.end - match.begin)) + "]";
    at = match.end > match.begin ? match.end : match.end + 1;
  }
  return out;
}

TEST(Oniguruma, PlainSyntaxStays) {
  EXPECT_EQ(translated("ab|c"), "ab|c");
  EXPECT_EQ(
      translated("(?:a)(?=b)(?!c)(?<=d)(?<!e)(?>f)(g)"), "(?:a)(?=b)(?!c)(?<=d)(?<!e)(?>f)(g)"
  );
  EXPECT_EQ(translated("a*?b++c?d{2}e{2,}f{2,3}?"), "a*?b++c?d{2}e{2,}f{2,3}?");
  EXPECT_EQ(translated("\\A\\z\\Z^$."), "\\A\\z\\Z^$.");
}

TEST(Oniguruma, DialectDiffers) {
  EXPECT_EQ(translated("(?m:.)"), "(?s:.)");
  EXPECT_EQ(translated("\\u4e2d"), "\xE4\xB8\xAD");
  EXPECT_EQ(translated("a{,3}"), "a{0,3}");
  EXPECT_EQ(translated("a{2}?"), "(?:a{2})?");
  EXPECT_EQ(translated("a{1,2}+"), "(?:a{1,2})+");
  EXPECT_EQ(translated("a**"), "(?:a*)*");
  EXPECT_EQ(translated("a(?i)b|c"), "a(?i:b|c)");
  EXPECT_EQ(translated("a{"), "a\\x{7b}");
  EXPECT_EQ(translated("\\h"), "[0-9A-Fa-f]");
  EXPECT_EQ(translated("(?#note)a"), "a");
}

TEST(Oniguruma, Classes) {
  EXPECT_EQ(translated("[a-c\\-\\]]"), "[a-c\\x{2d}\\x{5d}]");
  EXPECT_EQ(translated("[]a]"), "[\\x{5d}a]");
  EXPECT_EQ(translated("[a[bc]]"), "[abc]");
  EXPECT_EQ(translated("[a[^bc]]"), "(?:[a]|[^bc])");
  EXPECT_EQ(translated("[a-z&&[^aeiou]]"), "(?:(?=[^aeiou])[a-z])");
  EXPECT_EQ(translated("[^a&&b]"), "(?:(?!(?=[b])[a])(?s:.))");
  EXPECT_EQ(matches("[\\w&&[^\\d_]]+", "ab_1 \xC3\xA9x"), "[ab][\xC3\xA9x]");
  EXPECT_EQ(
      matches(
          "[\\p{L}&&[^\\p{Han}]]+",
          "ab\xE4\xBD\xA0"
          "c"
      ),
      "[ab][c]"
  );
}

// White space is Unicode's White_Space in every position, as in Oniguruma; PCRE2's own \s also
// takes U+180E.
TEST(Oniguruma, WhiteSpaceIsUnicodes) {
  const Regex space = Regex::compile("\\s", "test");
  const Regex not_space = Regex::compile("\\S", "test");
  const Regex in_class = Regex::compile("[\\sx]", "test");
  const Regex not_in_class = Regex::compile("[^\\s]", "test");
  RegexScratch scratch;
  Regex::Match match{};
  for (char32_t c = 0; c < 0x3100; ++c) {
    std::string text;
    utf8_append(text, c);
    const bool expected = is_white_space(c);
    EXPECT_EQ(space.find(text, 0, scratch, match), expected) << static_cast<uint32_t>(c);
    EXPECT_EQ(not_space.find(text, 0, scratch, match), !expected) << static_cast<uint32_t>(c);
    EXPECT_EQ(in_class.find(text, 0, scratch, match), expected || c == 'x');
    EXPECT_EQ(not_in_class.find(text, 0, scratch, match), !expected);
  }
}

// Letters of Unicode 15 and 16, which PCRE2 10.42 does not know.
TEST(Oniguruma, NewLettersAreLetters) {
  for (const char32_t c : {0x31350, 0x2EBF0, 0x10D4A, 0x1E4D0}) {
    std::string text;
    utf8_append(text, c);
    EXPECT_EQ(matches("\\p{L}", text).size(), text.size() + 2);
    EXPECT_EQ(matches("[\\p{L}\\d]", text).size(), text.size() + 2);
    EXPECT_EQ(matches("[^\\p{L}]", text), "");
    EXPECT_EQ(matches("\\P{L}", text), "");
    EXPECT_EQ(matches("[\\P{L}x]", text), "");
  }
}

TEST(Oniguruma, CaseFoldingIsUnicodes) {
  EXPECT_EQ(matches("(?i:'s|'k)", "'S '\xC5\xBF '\xE2\x84\xAA"), "['S]['\xC5\xBF]['\xE2\x84\xAA]");
}

TEST(Oniguruma, WhatIsNotSupportedIsNamed) {
  const auto error_of = [](std::string_view pattern) -> std::string {
    try {
      Regex::compile(pattern, "tokenizer.json: Split");
    } catch (const DataError& error) {
      return error.what();
    }
    return "none";
  };
  using testing::HasSubstr;
  EXPECT_THAT(error_of("(a"), HasSubstr("'(' without ')'"));
  EXPECT_THAT(error_of("a)"), HasSubstr("unmatched ')'"));
  EXPECT_THAT(error_of("[a"), HasSubstr("'[' without ']'"));
  EXPECT_THAT(error_of("*a"), HasSubstr("quantifier without a target"));
  EXPECT_THAT(error_of("a\\"), HasSubstr("ends with a backslash"));
  EXPECT_THAT(error_of("\\p{L"), HasSubstr("\\p without {name}"));
  EXPECT_THAT(error_of("\\p{Nonsense}"), HasSubstr("regular expression"));
  EXPECT_THAT(error_of("(?~a)"), HasSubstr("not supported"));
  EXPECT_THAT(error_of("(?x:a b)"), HasSubstr("extended syntax"));
  EXPECT_THAT(error_of("[[:graph:]]"), HasSubstr("[:graph:]"));
  EXPECT_THAT(error_of("[z-a]"), HasSubstr("out of order"));
  EXPECT_THAT(error_of("\\x{110000}"), HasSubstr("hexadecimal"));
  EXPECT_THAT(error_of("a"), "none");
  EXPECT_THAT(error_of("\xFF"), HasSubstr("UTF-8"));
  EXPECT_THAT(error_of("(a"), testing::StartsWith("tokenizer.json: Split: "));
  EXPECT_THAT(error_of(std::string(1000, '(')), HasSubstr("too deep"));
  EXPECT_THAT(error_of(std::string(1000, '[')), HasSubstr("too deep"));
}

}  // namespace
}  // namespace hone
