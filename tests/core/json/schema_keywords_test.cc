#include "core/json/schema_keywords.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

using enum SchemaDraft;

TEST(SchemaKeywords, BelongToTheirDrafts) {
  EXPECT_EQ(find_keyword("prefixItems", k2019, ~0U), nullptr);
  EXPECT_NE(find_keyword("prefixItems", k2020, ~0U), nullptr);
  EXPECT_NE(find_keyword("additionalItems", k2019, ~0U), nullptr);
  EXPECT_EQ(find_keyword("additionalItems", k2020, ~0U), nullptr);
  EXPECT_EQ(find_keyword("const", k4, ~0U), nullptr);
  EXPECT_NE(find_keyword("const", k6, ~0U), nullptr);
  EXPECT_EQ(find_keyword("if", k6, ~0U), nullptr);
  EXPECT_NE(find_keyword("if", k7, ~0U), nullptr);
  EXPECT_EQ(find_keyword("items", k2019, ~0U)->shape, KeywordShape::kSchemaOrList);
  EXPECT_EQ(find_keyword("items", k2020, ~0U)->shape, KeywordShape::kSchema);
  EXPECT_EQ(find_keyword("nullable", k2020, ~0U), nullptr);
  EXPECT_FALSE(is_keyword_of_some_draft("nullable"));
  EXPECT_TRUE(is_keyword_of_some_draft("additionalItems"));
}

TEST(SchemaKeywords, CanBeOffWithTheirVocabulary) {
  EXPECT_EQ(find_keyword("minimum", k2020, kVocabularyCore | kVocabularyApplicator), nullptr);
  EXPECT_NE(find_keyword("properties", k2020, kVocabularyCore | kVocabularyApplicator), nullptr);
}

TEST(SchemaKeywords, VocabulariesByUri) {
  const std::string v2019 = "https://json-schema.org/draft/2019-09/vocab/";
  const std::string v2020 = "https://json-schema.org/draft/2020-12/vocab/";
  EXPECT_EQ(vocabulary_bits(v2020 + "validation"), unsigned{kVocabularyValidation});
  EXPECT_EQ(vocabulary_bits(v2020 + "applicator"), unsigned{kVocabularyApplicator});
  EXPECT_EQ(vocabulary_bits(v2019 + "applicator"), kVocabularyApplicator | kVocabularyUnevaluated);
  EXPECT_EQ(vocabulary_bits(v2019 + "unevaluated"), 0U);
  EXPECT_EQ(vocabulary_bits("https://example.com/vocab/validation"), 0U);
  EXPECT_EQ(vocabulary_bits(v2020 + "nonsense"), 0U);
}

}  // namespace
}  // namespace hone
