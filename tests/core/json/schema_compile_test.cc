// Broken schemas, the compiled model, and what is reported as unsupported.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/json/schema.h"
#include "core/json/schema_node.h"

namespace hone {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Json json(const std::string& text) {
  return parse_json(text, "test");
}

std::string error_of(const std::string& text) {
  try {
    JsonSchema::compile(json(text));
  } catch (const DataError& error) {
    return error.what();
  }
  return "no error";
}

TEST(SchemaCompile, BrokenSchemasNameThePlaceAndTheValue) {
  const std::pair<const char*, const char*> cases[] = {
      {"3", "an object or a boolean, found 3"},
      {R"({"type":"strnig"})", "/type: expected null, boolean"},
      {R"({"type":[]})", "the list is empty"},
      {R"({"properties":{"a":{"minLength":-1}}})",
       "/properties/a/minLength: expected a non-negative integer, found -1"},
      {R"({"maxItems":1.5})", "/maxItems: expected a non-negative integer, found 1.5"},
      {R"({"minimum":"3"})", "/minimum: expected a number, found \"3\""},
      {R"({"multipleOf":0})", "/multipleOf: expected a number above 0, found 0"},
      {R"({"pattern":"("})", "/pattern: regular expression \"(\""},
      {R"({"patternProperties":{"[":true}})", "/patternProperties: regular expression"},
      {R"({"required":"x"})", "/required: expected a list of strings, found \"x\""},
      {R"({"required":[1]})", "found 1 in it"},
      {R"({"properties":[]})", "/properties: expected an object, found array"},
      {R"({"properties":{"a":7}})", "/properties/a: expected an object or a boolean, found 7"},
      {R"({"allOf":[]})", "/allOf: the list is empty"},
      {R"({"anyOf":{}})", "/anyOf: expected a list, found object"},
      {R"({"enum":1})", "/enum: expected a list"},
      {R"({"uniqueItems":1})", "/uniqueItems: expected true or false"},
      {R"({"format":1})", "/format: expected a string"},
      {R"({"$ref":1})", "/$ref: expected a string"},
      {R"({"$ref":"http://example.com/other"})", "nothing is fetched"},
      {R"({"$ref":"#/nowhere"})", "there is no \"nowhere\" in the schema"},
      {R"({"$ref":"#nowhere"})", "there is no anchor \"nowhere\""},
      {R"({"items":[{}]})", "use \"prefixItems\""},
      {R"({"exclusiveMinimum":true})", "draft 4"},
  };
  for (const auto& [schema, message] : cases) EXPECT_THAT(error_of(schema), HasSubstr(message));
}

TEST(SchemaCompile, EndlessReferencesAreRefused) {
  EXPECT_THAT(error_of(R"({"$ref":"#"})"), HasSubstr("would never end"));
  EXPECT_THAT(
      error_of(R"({"$defs":{"a":{"allOf":[{"$ref":"#/$defs/b"}]},"b":{"$ref":"#/$defs/a"}}})"),
      "no error"
  ) << "not reached, so not compiled";
  EXPECT_THAT(
      error_of(R"({"$ref":"#/$defs/a","$defs":{"a":{"allOf":[{"not":{"$ref":"#/$defs/a"}}]}}})"),
      HasSubstr("would never end")
  );
  // A tree is no loop.
  EXPECT_EQ(error_of(R"({"properties":{"child":{"$ref":"#"}},"items":{"$ref":"#"}})"), "no error");
}

TEST(SchemaCompile, ModelHasTheKeywords) {
  const JsonSchema schema = JsonSchema::compile(json(R"({
    "type": ["object", "null"], "required": ["a"],
    "properties": {"a": {"type": "integer", "minimum": 2}, "b": {"$ref": "#/properties/a"}},
    "additionalProperties": false
  })"));
  const SchemaNode& root = schema.root();
  EXPECT_EQ(root.types, kTypeObject | kTypeNull);
  EXPECT_THAT(root.required, ElementsAre("a"));
  const SchemaNode* a = root.properties.at("a");
  EXPECT_EQ(a->path, "/properties/a");
  EXPECT_EQ(*a->minimum, 2);
  EXPECT_EQ(root.properties.at("b")->ref, a);
  EXPECT_TRUE(root.additional_properties->never);
}

TEST(SchemaCompile, UnsupportedKeywordsAreReported) {
  const auto unsupported = [](const std::string& text) {
    return JsonSchema::compile(json(text)).unsupported();
  };
  EXPECT_THAT(
      unsupported(R"({"type":"string","x-custom":1,"format":"date","title":"t","default":1,
                      "properties":{"a":{"nullable":true}}})"),
      ElementsAre("nullable", "x-custom")
  );
  const std::string draft7 = R"("$schema":"http://json-schema.org/draft-07/schema#")";
  EXPECT_THAT(
      unsupported("{" + draft7 + R"(,"minContains":2,"dependentRequired":{},"$defs":{}})"),
      ElementsAre("dependentRequired (not in draft 7)", "minContains (not in draft 7)")
  );
  EXPECT_THAT(
      unsupported(
          "{" + draft7 + R"(,"definitions":{"a":{}},"$ref":"#/definitions/a","minimum":1})"
      ),
      ElementsAre("minimum (beside $ref in draft 7)")
  );
  EXPECT_THAT(
      unsupported(R"({"$schema":"http://json-schema.org/draft-03/schema#"})"),
      ElementsAre("$schema \"http://json-schema.org/draft-03/schema\"")
  );
  // Inside enum and const stand values.
  EXPECT_THAT(unsupported(R"({"enum":[{"foo":1}],"const":{"bar":2}})"), ElementsAre());
}

TEST(SchemaCompile, UnknownFormatsAreReportedWhereFormatsAreAsserted) {
  SchemaOptions options;
  options.assert_formats = true;
  const auto schema = JsonSchema::compile(json(R"({"format":"int32"})"), options);
  EXPECT_THAT(schema.unsupported(), ElementsAre("format \"int32\""));
  EXPECT_TRUE(schema.valid(Json("x")));
}

TEST(SchemaCompile, RequiredVocabulariesMustBeKnown) {
  SchemaOptions options;
  options.documents["https://example.com/meta"] = json(R"({
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$vocabulary": {"https://json-schema.org/draft/2020-12/vocab/core": true,
                    "https://example.com/vocab/units": true}
  })");
  const Json schema = json(R"({"$schema":"https://example.com/meta"})");
  try {
    JsonSchema::compile(schema, options);
    FAIL();
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(), HasSubstr("https://example.com/vocab/units"));
  }
}

}  // namespace
}  // namespace hone
