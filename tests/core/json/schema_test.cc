#include "core/json/schema.h"

#include <filesystem>
#include <iostream>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"

namespace hone {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const fs::path kSuite = fs::path(HONE_SOURCE_DIR) / "tests" / "golden" / "jsonschema";

// The documents that the suite's references reach.
std::map<std::string, Json> suite_documents() {
  std::map<std::string, Json> known;
  for (const auto& entry : fs::recursive_directory_iterator(kSuite / "remotes")) {
    if (!entry.is_regular_file()) continue;
    const std::string path = entry.path().lexically_relative(kSuite / "remotes").generic_string();
    known["http://localhost:1234/" + path] = read_json_file(entry.path());
  }
  for (const char* name : {"draft7", "draft2020-12"}) {
    const Json schema =
        read_json_file(kSuite / "metaschemas" / (std::string(name) + ".schema.json"));
    std::string id = schema.at("$id");
    known[id.substr(0, id.find('#'))] = schema;
  }
  const Json vocabularies = read_json_file(kSuite / "metaschemas" / "vocabularies.json");
  for (const auto& [key, schema] : vocabularies.items()) {
    if (schema.is_object() && schema.contains("$id")) known[schema.at("$id")] = schema;
  }
  return known;
}

struct Score {
  int passed = 0;
  int total = 0;
};

// Runs one draft; prints keyword scores; every failure must be listed in `expected`.
void run_draft(
    const std::string& draft, const std::string& dialect, const std::set<std::string>& expected
) {
  const auto known = suite_documents();
  std::map<std::string, Score> scores;
  std::set<std::string> failed;
  for (const auto& entry : fs::directory_iterator(kSuite / draft)) {
    const std::string keyword = entry.path().stem().string();
    const Json groups = read_json_file(entry.path());
    for (const Json& group : groups) {
      Json schema = group.at("schema");
      if (schema.is_object() && !schema.contains("$schema")) schema["$schema"] = dialect;
      for (const Json& test : group.at("tests")) {
        const std::string name = keyword + ": " + group.at("description").get<std::string>() +
                                 ": " + test.at("description").get<std::string>();
        ++scores[keyword].total;
        bool ok = false;
        try {
          ok = JsonSchema::compile(schema, known).valid(test.at("data")) == test.at("valid");
        } catch (const Error& e) {
          std::cout << name << ": " << e.what() << '\n';
        }
        if (ok) {
          ++scores[keyword].passed;
        } else {
          failed.insert(name);
        }
      }
    }
  }
  Score sum;
  for (const auto& [keyword, score] : scores) {
    sum.passed += score.passed;
    sum.total += score.total;
    if (score.passed != score.total) {
      std::cout << keyword << ": " << score.passed << "/" << score.total << '\n';
    }
  }
  std::cout << draft << ": " << sum.passed << " of " << sum.total << " pass\n";
  EXPECT_GT(sum.total, 800);
  EXPECT_EQ(failed, expected);
}

TEST(JsonSchemaSuite, Draft202012) {
  run_draft(
      "draft2020-12",
      "https://json-schema.org/draft/2020-12/schema",
      // $vocabulary of a foreign metaschema is not honoured: assertions stay on.
      {"vocabulary: schema that uses custom metaschema with with no validation vocabulary: "
       "no validation: invalid number, but it still validates"}
  );
}

TEST(JsonSchemaSuite, Draft7) {
  run_draft("draft7", "http://json-schema.org/draft-07/schema#", {});
}

Json json(const char* text) {
  return parse_json(text, "test");
}

TEST(JsonSchema, ViolationsNamePlaceAndReason) {
  const JsonSchema schema = JsonSchema::compile(json(R"({
    "type": "object", "required": ["city"], "additionalProperties": false,
    "properties": {"city": {"type": "string"}, "days": {"type": "array", "items": {"type": "integer"}}}
  })"));
  const auto violations = schema.validate(json(R"({"days": [1, "2"], "more": 0})"));
  ASSERT_EQ(violations.size(), 3U);
  EXPECT_EQ(violations[0].instance_path, "/days/1");
  EXPECT_EQ(violations[0].schema_path, "#/properties/days/items/type");
  EXPECT_EQ(violations[0].message, "expected integer, found string");
  EXPECT_THAT(violations[1].message, HasSubstr("unknown key \"more\""));
  EXPECT_THAT(violations[2].message, HasSubstr("\"city\" is missing"));
  EXPECT_EQ(schema.validate(json(R"({"days": [1, "2"], "more": 0})"), 1).size(), 1U);
}

TEST(JsonSchema, UnsupportedKeywordsAreReported) {
  const JsonSchema schema =
      JsonSchema::compile(json(R"({"type":"string","x-custom":1,"format":"date","title":"t"})"));
  EXPECT_EQ(schema.unsupported(), std::vector<std::string>{"x-custom"});
}

TEST(JsonSchema, BrokenSchemasAreRefused) {
  const auto error = [](const char* text) -> std::string {
    try {
      JsonSchema::compile(json(text));
    } catch (const DataError& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_THAT(error("3"), HasSubstr("object or a boolean"));
  EXPECT_THAT(error(R"({"type":"strnig"})"), HasSubstr("strnig"));
  EXPECT_THAT(error(R"({"properties":{"a":{"minLength":-1}}})"), HasSubstr("#/properties/a"));
  EXPECT_THAT(error(R"({"pattern":"("})"), HasSubstr("regular expression"));
  EXPECT_THAT(error(R"({"required":"x"})"), HasSubstr("required"));
  EXPECT_THAT(error(R"({"$ref":"http://example.com/other"})"), HasSubstr("nothing is fetched"));
  EXPECT_THAT(error(R"({"$ref":"#/nowhere"})"), HasSubstr("points at nothing"));
  EXPECT_THAT(error(R"({"$ref":"#nowhere"})"), HasSubstr("no such anchor"));
}

TEST(JsonSchema, EndlessRecursionEnds) {
  const JsonSchema schema = JsonSchema::compile(json(R"({"$ref": "#"})"));
  EXPECT_THROW(schema.validate(json("1")), DataError);
}

TEST(JsonSchema, ExpensiveExpressionsEnd) {
  const JsonSchema schema = JsonSchema::compile(json(R"({"pattern": "^(a+)+$"})"));
  EXPECT_THROW(schema.validate(Json(std::string(60, 'a') + "!")), DataError);
}

}  // namespace
}  // namespace hone
