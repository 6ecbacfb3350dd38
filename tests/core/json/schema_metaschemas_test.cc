#include "core/json/schema_metaschemas.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

constexpr std::pair<const char*, SchemaDraft> kUris[] = {
    {"http://json-schema.org/draft-04/schema", SchemaDraft::k4},
    {"http://json-schema.org/draft-06/schema", SchemaDraft::k6},
    {"http://json-schema.org/draft-07/schema", SchemaDraft::k7},
    {"https://json-schema.org/draft/2019-09/schema", SchemaDraft::k2019},
    {"https://json-schema.org/draft/2020-12/schema", SchemaDraft::k2020},
};

TEST(Metaschemas, DraftsByUri) {
  for (const auto& [uri, draft] : kUris) EXPECT_EQ(metaschema_draft(uri), draft) << uri;
  EXPECT_EQ(metaschema_draft("https://json-schema.org/draft-07/schema"), SchemaDraft::k7);
  EXPECT_EQ(metaschema_draft("http://json-schema.org/draft-03/schema"), std::nullopt);
  EXPECT_EQ(metaschema_draft(""), std::nullopt);
}

// Each metaschema is valid against itself, finds faults in broken schemas, and uses no keyword that
// is not built.
TEST(Metaschemas, ValidateSchemas) {
  for (const auto& [uri, draft] : kUris) {
    const Json* document = find_metaschema(uri);
    ASSERT_NE(document, nullptr) << uri;
    const JsonSchema schema = JsonSchema::compile(*document);
    EXPECT_TRUE(schema.valid(*document)) << uri;
    EXPECT_EQ(schema.unsupported(), std::vector<std::string>{}) << uri;
    EXPECT_TRUE(schema.valid(parse_json(R"({"type":["object","null"],"minLength":3})", "t")));
    EXPECT_FALSE(schema.valid(parse_json(R"({"type":"objekt"})", "t"))) << uri;
    EXPECT_FALSE(schema.valid(parse_json(R"({"properties":{"a":{"minLength":-1}}})", "t"))) << uri;
    EXPECT_FALSE(schema.valid(parse_json(R"([])", "t"))) << uri;
  }
  EXPECT_EQ(find_metaschema("http://json-schema.org/draft-03/schema"), nullptr);
}

}  // namespace
}  // namespace hone
