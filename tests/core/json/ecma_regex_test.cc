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

TEST(EcmaRegex, BrokenInput) {
  EXPECT_THROW(EcmaRegex("("), DataError);
  EXPECT_FALSE(EcmaRegex("a").matches("\xff"));
}

}  // namespace
}  // namespace hone
