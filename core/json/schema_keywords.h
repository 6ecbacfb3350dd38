// Which keywords each draft has, where they hold subschemas, and to which vocabulary they belong.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/json/schema.h"

namespace hone {

enum class KeywordShape : uint8_t {
  kValue,         // no subschemas
  kSchema,        // one
  kSchemaList,    // [schema, ...]
  kSchemaOrList,  // either
  kSchemaMap,     // {name: schema}
  kDependencies,  // {name: schema or [name, ...]}
};

enum SchemaVocabulary : unsigned {
  kVocabularyCore = 1,
  kVocabularyApplicator = 2,
  kVocabularyUnevaluated = 4,
  kVocabularyValidation = 8,
  kVocabularyMetaData = 16,
  kVocabularyFormat = 32,
  kVocabularyContent = 64,
  kVocabularyFormatAssertion = 128,
};

struct SchemaKeyword {
  std::string_view name;
  KeywordShape shape;
  SchemaDraft first;
  SchemaDraft last;
  unsigned vocabulary;
};

// Null when the draft has no such keyword or its vocabulary is off.
const SchemaKeyword* find_keyword(std::string_view name, SchemaDraft draft, unsigned vocabularies);

// Whether any draft has it.
bool is_keyword_of_some_draft(std::string_view name);

// The bits that a vocabulary's URI stands for; 0 when it is unknown.
unsigned vocabulary_bits(std::string_view uri);

}  // namespace hone
