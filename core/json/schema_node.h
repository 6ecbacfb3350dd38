// The compiled form of a JSON Schema: one node per subschema, references resolved.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/json/ecma_regex.h"
#include "core/json/json.h"
#include "core/json/schema.h"

namespace hone {

struct SchemaNode;

// Bits of SchemaNode::types. A number with an integral value has kTypeInteger as well.
enum SchemaType : unsigned {
  kTypeNull = 1,
  kTypeBoolean = 2,
  kTypeObject = 4,
  kTypeArray = 8,
  kTypeNumber = 16,
  kTypeString = 32,
  kTypeInteger = 64,
};

// A document, or an embedded part of it with its own $id.
struct SchemaResource {
  std::string uri;     // absolute base URI without fragment; "" when the document has none
  std::string prefix;  // what stands before the pointers of `SchemaNode::path`
  SchemaDraft draft = SchemaDraft::k2020;
  unsigned vocabularies = ~0U;  // bits of core/json/schema_keywords.h
  bool assert_formats = false;
  const Json* root = nullptr;
  bool recursive_anchor = false;  // 2019-09: "$recursiveAnchor": true at the root
  std::map<std::string, const Json*, std::less<>> anchors;  // those of $dynamicAnchor included
  std::map<std::string, const SchemaNode*, std::less<>> dynamic_anchors;
  const SchemaNode* root_node = nullptr;  // set where recursive_anchor is
};

// Absent keywords are null, nullopt or empty. Pointers lead to nodes and documents of the same
// JsonSchema and live as long as it. $ref, allOf and the like apply to the same instance value.
struct SchemaNode {
  std::string path;  // where the subschema stands (see SchemaViolation::schema_path)
  const SchemaResource* resource = nullptr;
  const Json* source = nullptr;
  bool never = false;  // the schema `false`

  const SchemaNode* ref = nullptr;
  // $dynamicRef and $recursiveRef: where they lead when the dynamic scope does not say otherwise.
  const SchemaNode* dynamic_ref = nullptr;
  std::string dynamic_anchor;  // looked up in the dynamic scope; empty: plain reference
  bool recursive = false;      // look for the outermost recursive_anchor instead

  unsigned types = 0;  // 0: any
  const Json* constant = nullptr;
  const Json* enumeration = nullptr;  // a list

  const Json* multiple_of = nullptr;
  const Json* maximum = nullptr;
  const Json* minimum = nullptr;
  const Json* exclusive_maximum = nullptr;
  const Json* exclusive_minimum = nullptr;

  std::optional<uint64_t> max_length;  // in code points
  std::optional<uint64_t> min_length;
  std::string pattern_text;
  std::shared_ptr<const EcmaRegex> pattern;
  std::string format;  // as written; asserted when assert_format is set
  bool assert_format = false;

  std::vector<const SchemaNode*> prefix_items;
  const SchemaNode* items = nullptr;    // of the elements behind prefix_items
  const char* items_keyword = "items";  // or "additionalItems"
  const SchemaNode* contains = nullptr;
  bool contains_evaluates = false;  // 2020-12: what `contains` matches counts as evaluated
  std::optional<uint64_t> max_contains;
  std::optional<uint64_t> min_contains;
  std::optional<uint64_t> max_items;
  std::optional<uint64_t> min_items;
  bool unique_items = false;
  const SchemaNode* unevaluated_items = nullptr;

  std::unordered_map<std::string, const SchemaNode*> properties;
  struct PatternProperty {
    std::string text;
    std::shared_ptr<const EcmaRegex> pattern;
    const SchemaNode* schema;
  };
  std::vector<PatternProperty> pattern_properties;
  const SchemaNode* additional_properties = nullptr;
  const SchemaNode* property_names = nullptr;
  std::vector<std::string> required;
  std::vector<std::pair<std::string, std::vector<std::string>>> dependent_required;
  std::vector<std::pair<std::string, const SchemaNode*>> dependent_schemas;
  std::optional<uint64_t> max_properties;
  std::optional<uint64_t> min_properties;
  const SchemaNode* unevaluated_properties = nullptr;

  std::vector<const SchemaNode*> all_of;
  std::vector<const SchemaNode*> any_of;
  std::vector<const SchemaNode*> one_of;
  const SchemaNode* negation = nullptr;
  const SchemaNode* condition = nullptr;
  const SchemaNode* then = nullptr;
  const SchemaNode* otherwise = nullptr;
};

// Bits of SchemaType for a value.
unsigned schema_type_of(const Json& value);
// "integer or null".
std::string schema_type_names(unsigned types);

}  // namespace hone
