#include "core/json/equal.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

bool equal(const char* a, const char* b) {
  return json_equal(parse_json(a, "a"), parse_json(b, "b"));
}

TEST(JsonEqual, ComparesByValue) {
  EXPECT_TRUE(equal("1", "1.0"));
  EXPECT_TRUE(equal(R"({"a":1,"b":[{"c":2,"d":3}]})", R"({"b":[{"d":3.0,"c":2}],"a":1})"));
  EXPECT_FALSE(equal("[1,2]", "[2,1]"));
  EXPECT_FALSE(equal(R"({"a":1})", R"({"a":1,"b":1})"));
  EXPECT_FALSE(equal(R"({"a":1})", R"({"b":1})"));
  EXPECT_FALSE(equal("1", "true"));
  EXPECT_FALSE(equal("0", "false"));
  EXPECT_FALSE(equal("null", "0"));
  EXPECT_FALSE(equal("\"1\"", "1"));
}

}  // namespace
}  // namespace hone
