#include "core/json/schema_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"

namespace hone {
namespace {

using testing::HasSubstr;

Json json(const char* text) {
  return parse_json(text, "test");
}

TEST(SchemaIndex, ResolvesPointersAnchorsAndIds) {
  const SchemaOptions options;
  SchemaIndex index(options);
  const SchemaPlace root = index.add_root(json(R"({
    "$id": "https://example.com/root.json",
    "$defs": {
      "a/b": {"$anchor": "first", "type": "string"},
      "inner": {"$id": "inner/", "$defs": {"c": {"$id": "leaf.json", "$anchor": "first"}}}
    },
    "x-parts": [{"type": "null"}]
  })"));
  const auto path = [&](const char* reference) {
    return index.resolve(root, reference).place.path;
  };
  EXPECT_EQ(path("#"), "");
  EXPECT_EQ(path("#/$defs/a~1b"), "/$defs/a~1b");
  EXPECT_EQ(path("#/%24defs/a~1b"), "/$defs/a~1b");
  EXPECT_EQ(path("#first"), "/$defs/a~1b");
  EXPECT_EQ(path("inner/leaf.json"), "/$defs/inner/$defs/c");
  EXPECT_EQ(path("inner/leaf.json#first"), "/$defs/inner/$defs/c");
  EXPECT_EQ(path("https://example.com/inner/#/$defs/c"), "/$defs/inner/$defs/c");
  // Also what no keyword leads to.
  EXPECT_EQ(path("#/x-parts/0"), "/x-parts/0");
  EXPECT_EQ(
      index.resolve(root, "#/$defs/inner/$defs/c").place.resource->uri,
      "https://example.com/inner/leaf.json"
  );
  EXPECT_EQ(index.resolve(root, "#first").anchor, "first");
}

TEST(SchemaIndex, OtherDocumentsComeFromTheOptionsOnly) {
  SchemaOptions options;
  options.documents["https://example.com/other"] = json(R"({"$defs": {"a": true}})");
  SchemaIndex index(options);
  const SchemaPlace root = index.add_root(json("{}"));
  EXPECT_EQ(
      index.resolve(root, "https://example.com/other#/$defs/a").place.path,
      "https://example.com/other#/$defs/a"
  );
  EXPECT_EQ(
      index.resolve(root, "http://json-schema.org/draft-07/schema#").place.resource->draft,
      SchemaDraft::k7
  );
  try {
    index.resolve(root, "https://example.com/missing");
    FAIL();
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(), HasSubstr("https://example.com/missing"));
    EXPECT_THAT(error.what(), HasSubstr("nothing is fetched"));
  }
}

TEST(SchemaIndex, DraftsDecideWhatAnIdentifierIs) {
  const SchemaOptions options;
  SchemaIndex index(options);
  const SchemaPlace root = index.add_root(json(R"({
    "$schema": "http://json-schema.org/draft-07/schema#",
    "definitions": {
      "a": {"$id": "#plain"},
      "b": {"$ref": "#plain", "$id": "hidden.json"},
      "c": {"const": {"$id": "data.json"}}
    }
  })"));
  EXPECT_EQ(index.resolve(root, "#plain").place.path, "/definitions/a");
  EXPECT_THROW(index.resolve(root, "hidden.json"), DataError);
  EXPECT_THROW(index.resolve(root, "data.json"), DataError);
}

TEST(SchemaIndex, RepeatedAnchorsAreRefused) {
  const SchemaOptions options;
  SchemaIndex index(options);
  EXPECT_THROW(
      index.add_root(json(R"({"$defs": {"a": {"$anchor": "x"}, "b": {"$anchor": "x"}}})")),
      DataError
  );
}

}  // namespace
}  // namespace hone
