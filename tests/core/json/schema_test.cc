#include "core/json/schema.h"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"

namespace hone {
namespace {

using testing::HasSubstr;

Json json(const std::string& text) {
  return parse_json(text, "test");
}

TEST(JsonSchema, ViolationsNamePlaceAndReason) {
  const JsonSchema schema = JsonSchema::compile(json(R"({
    "type": "object", "required": ["city"], "additionalProperties": false,
    "properties": {"city": {"type": "string"},
                   "days": {"type": "array", "items": {"type": "integer"}}}
  })"));
  const Json instance = json(R"({"days": [1, "2"], "more": 0})");
  const auto violations = schema.validate(instance);
  ASSERT_EQ(violations.size(), 3U);
  EXPECT_EQ(violations[0].instance_path, "");
  EXPECT_EQ(violations[0].schema_path, "/required");
  EXPECT_EQ(violations[0].message, "\"city\" is missing");
  EXPECT_EQ(violations[1].instance_path, "/days/1");
  EXPECT_EQ(violations[1].schema_path, "/properties/days/items/type");
  EXPECT_EQ(violations[1].message, "expected integer, found string");
  EXPECT_EQ(violations[2].instance_path, "");
  EXPECT_EQ(violations[2].schema_path, "/additionalProperties");
  EXPECT_EQ(violations[2].message, "\"more\" is not allowed here");
  EXPECT_EQ(schema.validate(instance, 1).size(), 1U);
  EXPECT_EQ(schema.validate(instance, 2).size(), 2U);
  EXPECT_FALSE(schema.valid(instance));
  EXPECT_TRUE(schema.valid(json(R"({"city": "Oslo", "days": [1, 2.0]})")));
}

TEST(JsonSchema, MessagesTellWhatWasExpected) {
  const auto message = [](const char* schema, const char* instance) {
    const auto violations = JsonSchema::compile(json(schema)).validate(json(instance));
    return violations.empty() ? std::string("valid") : violations.front().message;
  };
  EXPECT_EQ(
      message(R"({"type":["string","null"]})", "1"), "expected null or string, found integer"
  );
  EXPECT_EQ(
      message(R"({"enum":["a","b"]})", "\"c\""), "expected one of [\"a\",\"b\"], found \"c\""
  );
  EXPECT_EQ(message(R"({"minimum":3})", "2"), "expected at least 3, found 2");
  EXPECT_EQ(
      message(R"({"maxLength":2})", "\"\u00e9\u00e9\u00e9\""),
      "expected at most 2 characters, found 3"
  );
  EXPECT_EQ(message(R"({"items":false})", "[1]"), "expected at most 0 elements, found 1");
  EXPECT_EQ(message(R"({"uniqueItems":true})", "[1,2,1.0]"), "elements 0 and 2 are equal: 1");
  EXPECT_EQ(
      message(
          R"({"anyOf":[{"type":"string"},{"properties":{"a":{"type":"null"}}}]})", R"({"a":1})"
      ),
      "none of the 2 alternatives holds (nearest: \"/a\": expected null, found integer)"
  );
  EXPECT_EQ(
      message(R"({"oneOf":[{"minimum":0},{"minimum":1},{"minimum":2}]})", "1"),
      "expected exactly one alternative to hold, but 0 and 1 do"
  );
  EXPECT_EQ(
      message(R"({"propertyNames":{"maxLength":1}})", R"({"ab":1})"),
      "the name \"ab\" is not allowed: expected at most 1 characters, found 2"
  );
  // Long values are cut, at a character.
  const std::string text = "\"" + std::string(78, 'x') + "\u00e9\u00e9\u00e9\"";
  EXPECT_THAT(message(R"({"const":1})", text.c_str()), HasSubstr("xx..."));
}

TEST(JsonSchema, PathsAreEscaped) {
  const JsonSchema schema =
      JsonSchema::compile(json(R"({"properties":{"a/b":{"properties":{"c~d":false}}}})"));
  const auto violations = schema.validate(json(R"({"a/b":{"c~d":1}})"));
  ASSERT_EQ(violations.size(), 1U);
  EXPECT_EQ(violations[0].instance_path, "/a~1b/c~0d");
  EXPECT_EQ(violations[0].schema_path, "/properties/a~1b/properties/c~0d");
}

TEST(JsonSchema, DefaultDraftIsTheCallersChoice) {
  const Json tuple = json(R"({"items":[{"type":"string"}],"additionalItems":false})");
  EXPECT_THROW(JsonSchema::compile(tuple), DataError);
  SchemaOptions options;
  options.draft = SchemaDraft::k7;
  const JsonSchema schema = JsonSchema::compile(tuple, options);
  EXPECT_TRUE(schema.valid(json(R"(["a"])")));
  EXPECT_FALSE(schema.valid(json(R"(["a",1])")));
  EXPECT_FALSE(schema.valid(json("[1]")));
}

TEST(JsonSchema, FormatsAreAssertedOnRequest) {
  const Json text = json(R"({"format":"ipv4"})");
  EXPECT_TRUE(JsonSchema::compile(text).valid(Json("no address")));
  SchemaOptions options;
  options.assert_formats = true;
  const JsonSchema strict = JsonSchema::compile(text, options);
  EXPECT_FALSE(strict.valid(Json("no address")));
  EXPECT_TRUE(strict.valid(Json("127.0.0.1")));
  EXPECT_TRUE(strict.valid(Json(5)));
}

TEST(JsonSchema, KnowsNeitherTheInputNorTheOptionsAfterCompiling) {
  std::unique_ptr<JsonSchema> schema;
  {
    SchemaOptions options;
    options.documents["https://example.com/a"] = json(R"({"enum":[{"deep":[1,2,3]}]})");
    const Json document = json(R"({"$ref":"https://example.com/a","const":{"deep":[1,2,3]}})");
    schema = std::make_unique<JsonSchema>(JsonSchema::compile(document, options));
  }
  EXPECT_TRUE(schema->valid(json(R"({"deep":[1,2,3.0]})")));
  EXPECT_FALSE(schema->valid(json(R"({"deep":[1,2]})")));
}

TEST(JsonSchema, RecursionThatOnlyTheInstanceShowsEnds) {
  // The loop runs through a condition, so it is not refused when compiled.
  const JsonSchema schema =
      JsonSchema::compile(json(R"({"if":{"type":"integer"},"then":{"$ref":"#"}})"));
  EXPECT_TRUE(schema.valid(Json("text")));
  EXPECT_THROW((void)schema.valid(Json(1)), DataError);
}

TEST(JsonSchema, DeepInstancesOfARecursiveSchema) {
  const JsonSchema schema =
      JsonSchema::compile(json(R"({"type":"array","allOf":[{"items":{"$ref":"#"}}],"maxItems":1})")
      );
  const std::string open(200, '[');
  const std::string close(200, ']');
  EXPECT_TRUE(schema.valid(json(open + close)));
  EXPECT_FALSE(schema.valid(json(open + "1" + close)));
}

TEST(JsonSchema, ExpensiveExpressionsEnd) {
  const JsonSchema schema = JsonSchema::compile(json(R"({"pattern":"^(a+)+$"})"));
  EXPECT_TRUE(schema.valid(Json(std::string(60, 'a'))));
  EXPECT_THROW((void)schema.valid(Json(std::string(60, 'a') + "!")), DataError);
}

TEST(JsonSchema, UniqueItemsOfALongListEnds) {
  Json list = Json::array();
  for (int i = 0; i < 100000; ++i) list.push_back({{"id", i}});
  const JsonSchema schema = JsonSchema::compile(json(R"({"uniqueItems":true})"));
  EXPECT_TRUE(schema.valid(list));
  list.push_back({{"id", 777.0}});
  const auto violations = schema.validate(list);
  ASSERT_EQ(violations.size(), 1U);
  EXPECT_THAT(violations[0].message, HasSubstr("elements 777 and 100000 are equal"));
}

TEST(JsonSchema, SeveralThreadsShareOneSchema) {
  const JsonSchema schema = JsonSchema::compile(json(R"({
    "$defs": {"n": {"type":"object","properties":{"v":{"pattern":"^[a-z]+$"},
                    "next":{"$ref":"#/$defs/n"}},"unevaluatedProperties":false}},
    "$ref": "#/$defs/n"})"));
  const Json good = json(R"({"v":"a","next":{"v":"b","next":{}}})");
  const Json bad = json(R"({"v":"a","next":{"v":"B","next":{"w":1}}})");
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        if (!schema.valid(good) || schema.validate(bad).size() != 2) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace hone
