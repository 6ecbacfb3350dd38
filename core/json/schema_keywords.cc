#include "core/json/schema_keywords.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace hone {
namespace {

using enum KeywordShape;
using enum SchemaDraft;

constexpr SchemaKeyword kKeywords[] = {
    {"$schema", kValue, k4, k2020, kVocabularyCore},
    {"id", kValue, k4, k4, kVocabularyCore},
    {"$id", kValue, k6, k2020, kVocabularyCore},
    {"$ref", kValue, k4, k2020, kVocabularyCore},
    {"$anchor", kValue, k2019, k2020, kVocabularyCore},
    {"$recursiveRef", kValue, k2019, k2019, kVocabularyCore},
    {"$recursiveAnchor", kValue, k2019, k2019, kVocabularyCore},
    {"$dynamicRef", kValue, k2020, k2020, kVocabularyCore},
    {"$dynamicAnchor", kValue, k2020, k2020, kVocabularyCore},
    {"$vocabulary", kValue, k2019, k2020, kVocabularyCore},
    // Written into older drafts by many authors; it asserts nothing, so it does no harm there.
    {"$comment", kValue, k4, k2020, kVocabularyCore},
    {"$defs", kSchemaMap, k2019, k2020, kVocabularyCore},
    {"definitions", kSchemaMap, k4, k2020, kVocabularyCore},

    {"allOf", kSchemaList, k4, k2020, kVocabularyApplicator},
    {"anyOf", kSchemaList, k4, k2020, kVocabularyApplicator},
    {"oneOf", kSchemaList, k4, k2020, kVocabularyApplicator},
    {"not", kSchema, k4, k2020, kVocabularyApplicator},
    {"if", kSchema, k7, k2020, kVocabularyApplicator},
    {"then", kSchema, k7, k2020, kVocabularyApplicator},
    {"else", kSchema, k7, k2020, kVocabularyApplicator},
    {"items", kSchemaOrList, k4, k2019, kVocabularyApplicator},
    {"items", kSchema, k2020, k2020, kVocabularyApplicator},
    {"prefixItems", kSchemaList, k2020, k2020, kVocabularyApplicator},
    {"additionalItems", kSchema, k4, k2019, kVocabularyApplicator},
    {"contains", kSchema, k6, k2020, kVocabularyApplicator},
    {"properties", kSchemaMap, k4, k2020, kVocabularyApplicator},
    {"patternProperties", kSchemaMap, k4, k2020, kVocabularyApplicator},
    {"additionalProperties", kSchema, k4, k2020, kVocabularyApplicator},
    {"propertyNames", kSchema, k6, k2020, kVocabularyApplicator},
    {"dependentSchemas", kSchemaMap, k2019, k2020, kVocabularyApplicator},
    // Split in two by 2019-09, which lets implementations go on with it.
    {"dependencies", kDependencies, k4, k2020, kVocabularyApplicator},

    {"unevaluatedItems", kSchema, k2019, k2020, kVocabularyUnevaluated},
    {"unevaluatedProperties", kSchema, k2019, k2020, kVocabularyUnevaluated},

    {"type", kValue, k4, k2020, kVocabularyValidation},
    {"enum", kValue, k4, k2020, kVocabularyValidation},
    {"const", kValue, k6, k2020, kVocabularyValidation},
    {"multipleOf", kValue, k4, k2020, kVocabularyValidation},
    {"maximum", kValue, k4, k2020, kVocabularyValidation},
    {"exclusiveMaximum", kValue, k4, k2020, kVocabularyValidation},
    {"minimum", kValue, k4, k2020, kVocabularyValidation},
    {"exclusiveMinimum", kValue, k4, k2020, kVocabularyValidation},
    {"maxLength", kValue, k4, k2020, kVocabularyValidation},
    {"minLength", kValue, k4, k2020, kVocabularyValidation},
    {"pattern", kValue, k4, k2020, kVocabularyValidation},
    {"maxItems", kValue, k4, k2020, kVocabularyValidation},
    {"minItems", kValue, k4, k2020, kVocabularyValidation},
    {"uniqueItems", kValue, k4, k2020, kVocabularyValidation},
    {"maxContains", kValue, k2019, k2020, kVocabularyValidation},
    {"minContains", kValue, k2019, k2020, kVocabularyValidation},
    {"maxProperties", kValue, k4, k2020, kVocabularyValidation},
    {"minProperties", kValue, k4, k2020, kVocabularyValidation},
    {"required", kValue, k4, k2020, kVocabularyValidation},
    {"dependentRequired", kValue, k2019, k2020, kVocabularyValidation},

    {"format", kValue, k4, k2020, kVocabularyFormat | kVocabularyFormatAssertion},
    {"contentEncoding", kValue, k4, k2020, kVocabularyContent},
    {"contentMediaType", kValue, k4, k2020, kVocabularyContent},
    {"contentSchema", kSchema, k2019, k2020, kVocabularyContent},
    {"title", kValue, k4, k2020, kVocabularyMetaData},
    {"description", kValue, k4, k2020, kVocabularyMetaData},
    {"default", kValue, k4, k2020, kVocabularyMetaData},
    {"deprecated", kValue, k4, k2020, kVocabularyMetaData},
    {"readOnly", kValue, k4, k2020, kVocabularyMetaData},
    {"writeOnly", kValue, k4, k2020, kVocabularyMetaData},
    {"examples", kValue, k4, k2020, kVocabularyMetaData},
};

const auto& keyword_table() {
  static const auto table = [] {
    std::unordered_map<std::string_view, std::vector<const SchemaKeyword*>> rows;
    for (const SchemaKeyword& keyword : kKeywords) rows[keyword.name].push_back(&keyword);
    return rows;
  }();
  return table;
}

}  // namespace

const SchemaKeyword* find_keyword(std::string_view name, SchemaDraft draft, unsigned vocabularies) {
  const auto rows = keyword_table().find(name);
  if (rows == keyword_table().end()) return nullptr;
  for (const SchemaKeyword* row : rows->second) {
    if (row->first <= draft && draft <= row->last && (row->vocabulary & vocabularies) != 0) {
      return row;
    }
  }
  return nullptr;
}

bool is_keyword_of_some_draft(std::string_view name) {
  return keyword_table().contains(name);
}

unsigned vocabulary_bits(std::string_view uri) {
  struct Row {
    std::string_view name;
    unsigned bits2019;
    unsigned bits2020;
  };
  // unevaluated* became a vocabulary of their own with 2020-12.
  constexpr Row kRows[] = {
      {"core", kVocabularyCore, kVocabularyCore},
      {"applicator", kVocabularyApplicator | kVocabularyUnevaluated, kVocabularyApplicator},
      {"unevaluated", 0, kVocabularyUnevaluated},
      {"validation", kVocabularyValidation, kVocabularyValidation},
      {"meta-data", kVocabularyMetaData, kVocabularyMetaData},
      {"format", kVocabularyFormat, 0},
      {"format-annotation", 0, kVocabularyFormat},
      {"format-assertion", 0, kVocabularyFormatAssertion},
      {"content", kVocabularyContent, kVocabularyContent},
  };
  constexpr std::string_view k2019Prefix = "https://json-schema.org/draft/2019-09/vocab/";
  constexpr std::string_view k2020Prefix = "https://json-schema.org/draft/2020-12/vocab/";
  const bool is2019 = uri.starts_with(k2019Prefix);
  if (!is2019 && !uri.starts_with(k2020Prefix)) return 0;
  const std::string_view name = uri.substr(k2020Prefix.size());
  for (const Row& row : kRows) {
    if (row.name == name) return is2019 ? row.bits2019 : row.bits2020;
  }
  return 0;
}

}  // namespace hone
