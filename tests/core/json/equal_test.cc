#include "core/json/equal.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace hone {
namespace {

Json json(const std::string& text) {
  return parse_json(text, "test");
}

// Equality and equality of the canonical text are the same relation.
bool equal(const std::string& a, const std::string& b) {
  const bool by_value = json_equal(json(a), json(b));
  EXPECT_EQ(by_value, canonical_json(json(a)) == canonical_json(json(b))) << a << " and " << b;
  EXPECT_EQ(by_value, json_equal(json(b), json(a))) << a << " and " << b;
  return by_value;
}

TEST(JsonEqual, ComparesByValue) {
  EXPECT_TRUE(equal("1", "1.0"));
  EXPECT_TRUE(equal("-0.0", "0"));
  EXPECT_TRUE(equal("1e3", "1000"));
  EXPECT_TRUE(equal("0.5", "5e-1"));
  EXPECT_TRUE(equal("18446744073709549568", "1.8446744073709549568e19"));
  EXPECT_TRUE(equal(R"({"a":1,"b":[{"c":2,"d":3}]})", R"({"b":[{"d":3.0,"c":2}],"a":1})"));
  EXPECT_FALSE(equal("9007199254740993", "9007199254740992.0"));
  EXPECT_FALSE(equal("[1,2]", "[2,1]"));
  EXPECT_FALSE(equal("[1,2]", "[1,2,3]"));
  EXPECT_FALSE(equal(R"({"a":1})", R"({"a":1,"b":1})"));
  EXPECT_FALSE(equal(R"({"a":1})", R"({"b":1})"));
  EXPECT_FALSE(equal("1", "true"));
  EXPECT_FALSE(equal("0", "false"));
  EXPECT_FALSE(equal("null", "0"));
  EXPECT_FALSE(equal("\"1\"", "1"));
  EXPECT_FALSE(equal("[]", "{}"));
  EXPECT_TRUE(equal(R"("\u00e9")", "\"\xC3\xA9\""));
}

TEST(JsonEqual, ManyKeysInAnotherOrder) {
  std::string forward = "{";
  std::string backward = "{";
  for (int i = 0; i < 300; ++i) {
    forward += fmt::format("{}\"k{}\":{}", i == 0 ? "" : ",", i, i);
    backward += fmt::format("{}\"k{}\":{}.0", i == 0 ? "" : ",", 299 - i, 299 - i);
  }
  EXPECT_TRUE(equal(forward + "}", backward + "}"));
  EXPECT_FALSE(equal(forward + "}", backward + ",\"more\":1}"));
}

TEST(CanonicalJson, SortsKeysAndWritesNumbersInOneForm) {
  EXPECT_EQ(
      canonical_json(json(R"({"b":1.0,"a":[true,null,"x",2.5]})")),
      R"({"a":[true,null,"x",2.5],"b":1})"
  );
}

}  // namespace
}  // namespace hone
