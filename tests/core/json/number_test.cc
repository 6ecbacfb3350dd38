#include "core/json/number.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace hone {
namespace {

Json number(const char* text) {
  return parse_json(text, "test");
}

TEST(CompareNumbers, NeverRounds) {
  EXPECT_TRUE(compare_numbers(number("1"), number("1.0")) == 0);
  EXPECT_TRUE(compare_numbers(number("9007199254740993"), number("9007199254740992.0")) > 0);
  EXPECT_TRUE(compare_numbers(number("9007199254740992.0"), number("9007199254740993")) < 0);
  EXPECT_TRUE(compare_numbers(number("18446744073709551615"), number("1.8446744073709552e19")) < 0);
  EXPECT_TRUE(compare_numbers(number("18446744073709551615"), number("-1")) > 0);
  EXPECT_TRUE(compare_numbers(number("-9223372036854775808"), number("-9.3e18")) > 0);
  EXPECT_TRUE(compare_numbers(number("-1"), number("-1.5")) > 0);
  EXPECT_TRUE(compare_numbers(number("-2"), number("-1.5")) < 0);
  EXPECT_TRUE(compare_numbers(number("0"), number("-0.0")) == 0);
  EXPECT_TRUE(compare_numbers(number("5"), number("1e300")) < 0);
  EXPECT_TRUE(compare_numbers(number("5"), number("-1e300")) > 0);
  EXPECT_TRUE(compare_numbers(number("0.1"), number("0.2")) < 0);
  const Json nan = std::nan("");
  EXPECT_TRUE(compare_numbers(nan, number("1")) == std::partial_ordering::unordered);
  EXPECT_TRUE(compare_numbers(number("1"), nan) == std::partial_ordering::unordered);
}

TEST(IsIntegral, GoesByTheValue) {
  for (const char* text : {"1", "1.0", "-3", "1e3", "1e300", "18446744073709551615", "-0.0"}) {
    EXPECT_TRUE(is_integral(number(text))) << text;
  }
  for (const char* text : {"1.5", "1e-3", "-0.1", "true", "\"1\"", "null"}) {
    EXPECT_FALSE(is_integral(number(text))) << text;
  }
  EXPECT_FALSE(is_integral(Json(std::numeric_limits<double>::infinity())));
}

TEST(IsMultipleOf, CountsInDecimals) {
  const auto multiple = [](const char* value, const char* divisor) {
    return is_multiple_of(number(value), number(divisor));
  };
  EXPECT_TRUE(multiple("10", "2"));
  EXPECT_FALSE(multiple("7", "2"));
  EXPECT_TRUE(multiple("-9", "3"));
  EXPECT_TRUE(multiple("0", "0.3"));
  EXPECT_TRUE(multiple("0.0", "7"));
  EXPECT_TRUE(multiple("4.5", "1.5"));
  EXPECT_TRUE(multiple("0.0075", "0.0001"));
  EXPECT_FALSE(multiple("0.00751", "0.0001"));
  EXPECT_TRUE(multiple("19.99", "0.01"));
  EXPECT_TRUE(multiple("0.3", "0.1"));
  EXPECT_TRUE(multiple("1.1", "0.1"));
  EXPECT_FALSE(multiple("0.35", "0.1"));
  EXPECT_TRUE(multiple("12391239123", "1e-8"));
  EXPECT_FALSE(multiple("1e308", "0.123456789"));
  EXPECT_TRUE(multiple("1e308", "0.5"));
  EXPECT_TRUE(multiple("1e22", "1e21"));
  EXPECT_FALSE(multiple("1e21", "1e22"));
  EXPECT_FALSE(multiple("5e-324", "1"));
  EXPECT_TRUE(multiple("5e-324", "5e-324"));
  EXPECT_TRUE(multiple("18446744073709551615", "5"));
  EXPECT_FALSE(multiple("18446744073709551615", "2"));
  EXPECT_TRUE(multiple("-9223372036854775808", "1024"));
  // 3 * 6004799503160661 = 2^54 - 1 + ...: beyond what doubles could decide.
  EXPECT_TRUE(multiple("18014398509481983", "3"));
  EXPECT_FALSE(multiple("18014398509481984", "3"));
  EXPECT_FALSE(is_multiple_of(Json(std::numeric_limits<double>::infinity()), number("1")));
}

}  // namespace
}  // namespace hone
