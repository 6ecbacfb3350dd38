// The compiled form of a JSON Schema: one node per subschema, references resolved.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/json/ecma_regex.h"
#include "core/json/json.h"
#include "core/json/schema.h"

namespace hone {

enum TypeBit : unsigned {
  kTypeNull = 1,
  kTypeBoolean = 2,
  kTypeObject = 4,
  kTypeArray = 8,
  kTypeNumber = 16,
  kTypeString = 32,
  kTypeInteger = 64,
};

// Pointers refer to nodes of the same JsonSchema and live as long as it.
struct JsonSchema::Node {
  std::string path;      // "#/properties/x": where it stands in its document
  std::string resource;  // base URI of the schema resource it belongs to
  bool never = false;    // the schema `false`

  unsigned types = 0;  // 0: any
  std::optional<std::vector<Json>> enumeration;
  std::optional<Json> constant;

  std::optional<double> multiple_of, maximum, exclusive_maximum, minimum, exclusive_minimum;
  std::optional<uint64_t> max_length, min_length;
  std::unique_ptr<EcmaRegex> pattern;

  std::vector<const Node*> prefix_items;
  const Node* items = nullptr;  // of the elements behind prefix_items
  const Node* contains = nullptr;
  std::optional<uint64_t> max_items, min_items, max_contains, min_contains;
  bool unique_items = false;

  std::map<std::string, const Node*> properties;
  std::vector<std::pair<std::unique_ptr<EcmaRegex>, const Node*>> pattern_properties;
  const Node* additional_properties = nullptr;
  const Node* property_names = nullptr;
  std::vector<std::string> required;
  std::map<std::string, std::vector<std::string>> dependent_required;
  std::map<std::string, const Node*> dependent_schemas;
  std::optional<uint64_t> max_properties, min_properties;

  std::vector<const Node*> all_of, any_of, one_of;
  const Node* negation = nullptr;
  const Node* condition = nullptr;
  const Node* then = nullptr;
  const Node* otherwise = nullptr;
  const Node* ref = nullptr;
  const Node* dynamic_ref = nullptr;
  std::string dynamic_anchor;  // name to look up in the dynamic scope; empty: plain reference

  const Node* unevaluated_items = nullptr;
  const Node* unevaluated_properties = nullptr;
};

struct JsonSchema::State {
  Json document;
  std::deque<Node> nodes;
  const Node* root = nullptr;
  // (resource, dynamic anchor) -> node
  std::map<std::pair<std::string, std::string>, const Node*> dynamic_anchors;
  std::vector<std::string> unsupported;
};

}  // namespace hone
