#include "runtime/text/jinja/python_text.h"

#include <cmath>

#include <gtest/gtest.h>

namespace hone::jinja {
namespace {

// Expected values: CPython 3.11.
TEST(PythonText, FloatRepr) {
  const std::pair<double, const char*> cases[] = {
      {0.0, "0.0"},
      {-0.0, "-0.0"},
      {1.0, "1.0"},
      {0.1, "0.1"},
      {100.0, "100.0"},
      {1e15, "1000000000000000.0"},
      {1e16, "1e+16"},
      {123456789012345680.0, "1.2345678901234568e+17"},
      {0.0001, "0.0001"},
      {0.00001, "1e-05"},
      {1.5e-7, "1.5e-07"},
      {5e-324, "5e-324"},
      {1.7976931348623157e308, "1.7976931348623157e+308"},
      {0.1 + 0.2, "0.30000000000000004"},
      {-2.5, "-2.5"},
      {INFINITY, "inf"},
      {-INFINITY, "-inf"},
      {NAN, "nan"},
      {1e100, "1e+100"},
      {12.5, "12.5"},
  };
  for (const auto& [value, text] : cases) EXPECT_EQ(float_repr(value), text);
}

TEST(PythonText, StringRepr) {
  EXPECT_EQ(string_repr("it's"), "\"it's\"");
  EXPECT_EQ(string_repr("say \"x\""), "'say \"x\"'");
  EXPECT_EQ(string_repr("'\""), "'\\'\"'");
  EXPECT_EQ(string_repr("a\n\t\r\\"), "'a\\n\\t\\r\\\\'");
  EXPECT_EQ(string_repr(std::string("\0\x7F\xC2\x80", 4)), "'\\x00\\x7f\\x80'");
  EXPECT_EQ(string_repr("\xE2\x80\x8B\xC3\xA9\xF3\xA0\x80\x81"), "'\\u200b\xC3\xA9\\U000e0001'");
}

TEST(PythonText, ParseInt) {
  EXPECT_EQ(parse_int(" 42 "), Int{42});
  EXPECT_EQ(parse_int("-1_000"), Int{-1000});
  EXPECT_EQ(parse_int("0x1f", 16), Int{31});
  EXPECT_EQ(parse_int("1f", 16), Int{31});
  for (const char* bad : {"", "-", "1__0", "_1", "1_", "4.5", "x", "1 2", "+-1"}) {
    EXPECT_FALSE(parse_int(bad)) << bad;
  }
  EXPECT_FALSE(parse_int("99999999999999999999999999999999999999999999"));
}

TEST(PythonText, ParseFloat) {
  EXPECT_EQ(parse_float(" 1.5 "), 1.5);
  EXPECT_EQ(parse_float("+2"), 2.0);
  EXPECT_EQ(parse_float("1e3"), 1000.0);
  EXPECT_EQ(parse_float("1e999"), INFINITY);
  EXPECT_EQ(parse_float("-1e999"), -INFINITY);
  EXPECT_EQ(parse_float("1e-999"), 0.0);
  EXPECT_EQ(parse_float(".5"), 0.5);
  for (const char* bad : {"", "x", "1.2.3", "++1", "1e", "0x10"})
    EXPECT_FALSE(parse_float(bad)) << bad;
}

}  // namespace
}  // namespace hone::jinja
