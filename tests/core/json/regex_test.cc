#include "core/json/regex.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace hone {
namespace {

TEST(Regex, FollowsEcma) {
  EXPECT_TRUE(Regex("b").matches("abc"));  // anywhere
  EXPECT_FALSE(Regex("^b").matches("abc"));
  EXPECT_FALSE(Regex("a$").matches("a\n"));
  EXPECT_FALSE(Regex("^\\d$").matches("\xE0\xA5\xA7"));  // a Devanagari digit
  EXPECT_TRUE(Regex("^\\u0041$").matches("A"));
  EXPECT_TRUE(Regex("^\\p{Letter}$").matches("\xC3\xA9"));
  EXPECT_TRUE(Regex("^.$").matches("\xF0\x9F\x90\x89"));  // one character outside the BMP
}

TEST(Regex, BrokenInput) {
  EXPECT_THROW(Regex("("), DataError);
  EXPECT_FALSE(Regex("a").matches("\xff"));
}

}  // namespace
}  // namespace hone
