#include "core/json/ecma_regex.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace hone {
namespace {

TEST(EcmaRegex, FollowsEcma) {
  EXPECT_TRUE(EcmaRegex("b").matches("abc"));  // anywhere
  EXPECT_FALSE(EcmaRegex("^b").matches("abc"));
  EXPECT_FALSE(EcmaRegex("a$").matches("a\n"));
  EXPECT_FALSE(EcmaRegex("^\\d$").matches("\xE0\xA5\xA7"));  // a Devanagari digit
  EXPECT_TRUE(EcmaRegex("^\\u0041$").matches("A"));
  EXPECT_TRUE(EcmaRegex("^\\p{Letter}$").matches("\xC3\xA9"));
  EXPECT_TRUE(EcmaRegex("^.$").matches("\xF0\x9F\x90\x89"));  // one character outside the BMP
}

TEST(EcmaRegex, ClassesAndEscapesOfEcma) {
  EXPECT_TRUE(EcmaRegex("^\\s$").matches("\xEF\xBB\xBF"));    // U+FEFF
  EXPECT_TRUE(EcmaRegex("^[\\s]$").matches("\xE2\x80\xA8"));  // U+2028
  EXPECT_FALSE(EcmaRegex("^\\S$").matches("\xC2\xA0"));       // U+00A0
  EXPECT_TRUE(EcmaRegex("^[\\S]$").matches("a"));
  EXPECT_FALSE(EcmaRegex("^[\\S]$").matches("\xE3\x80\x80"));  // U+3000
  EXPECT_FALSE(EcmaRegex("^\\w$").matches("\xC3\xA9"));
  EXPECT_TRUE(EcmaRegex("^\\W$").matches("\xC3\xA9"));
  EXPECT_FALSE(EcmaRegex("^\\v$").matches("\r"));
  EXPECT_FALSE(EcmaRegex("^.$").matches("\xE2\x80\xA9"));  // U+2029 ends a line
  EXPECT_TRUE(EcmaRegex("^[^]$").matches("\n"));
  EXPECT_FALSE(EcmaRegex("[]").matches("a"));
  EXPECT_TRUE(EcmaRegex("^[[:alpha:]]$").matches(":]"));  // no POSIX class
  EXPECT_TRUE(EcmaRegex("^\\ud83d\\udc32$").matches("\xF0\x9F\x90\xB2"));
  EXPECT_TRUE(EcmaRegex("^\\u{1F432}$").matches("\xF0\x9F\x90\xB2"));
  EXPECT_TRUE(EcmaRegex("^\\cC$").matches("\x03"));
  EXPECT_TRUE(EcmaRegex("^\\p{Script=Greek}+$").matches("\xCE\xB1"));
  EXPECT_TRUE(EcmaRegex("^\\P{gc=Lowercase_Letter}$").matches("A"));
  EXPECT_TRUE(EcmaRegex("(?<y>\\d{4})-\\k<y>").matches("2024-2024"));
  EXPECT_TRUE(EcmaRegex("^\\/\\-$").matches("/-"));
}

TEST(EcmaRegex, PythonSyntaxIsAcceptedButNotEcma) {
  EXPECT_TRUE(EcmaRegex("\\Aab\\Z").matches("ab"));
  EXPECT_TRUE(EcmaRegex("(?i)AB").matches("ab"));
  EXPECT_FALSE(is_ecma_regex("\\Aab\\Z"));
  EXPECT_FALSE(is_ecma_regex("(?i)AB"));
  EXPECT_TRUE(is_ecma_regex("^(?:a|(?=b)b)(?<n>c)[\\d\\S]$"));
}

TEST(EcmaRegex, BrokenInput) {
  EXPECT_THROW(EcmaRegex("("), DataError);
  EXPECT_THROW(EcmaRegex("a\\"), DataError);
  EXPECT_THROW(EcmaRegex("[a"), DataError);
  EXPECT_THROW(EcmaRegex("a{2,1}"), DataError);
  EXPECT_THROW(EcmaRegex("\\p{Nonsense}"), DataError);
  EXPECT_THROW(EcmaRegex("\xff"), DataError);
  EXPECT_FALSE(EcmaRegex("a").matches("\xff"));
}

}  // namespace
}  // namespace hone
