// From a schema document to nodes: identifiers first, then keywords, references last resolved.
#include <cmath>
#include <functional>
#include <set>

#include "core/base/error.h"
#include "core/json/schema.h"
#include "core/json/schema_node.h"
#include "core/json/schema_uri.h"

namespace hone {
namespace {

// Keywords that hold one subschema, a list of them, or a mapping to them.
constexpr const char* kSingle[] = {
    "items",
    "additionalItems",
    "contains",
    "additionalProperties",
    "propertyNames",
    "not",
    "if",
    "then",
    "else",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contentSchema"};
constexpr const char* kLists[] = {"allOf", "anyOf", "oneOf", "prefixItems", "items"};
constexpr const char* kMaps[] = {
    "properties", "patternProperties", "dependentSchemas", "$defs", "definitions", "dependencies"};
// Keywords that assert nothing.
const std::set<std::string>& annotations() {
  static const std::set<std::string> names{
      "$schema",     "$id",      "$anchor",         "$dynamicAnchor",   "$recursiveAnchor",
      "$vocabulary", "$comment", "$defs",           "definitions",      "title",
      "description", "default",  "deprecated",      "readOnly",         "writeOnly",
      "examples",    "format",   "contentEncoding", "contentMediaType", "contentSchema"};
  return names;
}

enum class Draft : uint8_t { k7, k2019, k2020 };

Draft draft_of(const Json& schema, Draft otherwise) {
  if (!schema.is_object()) return otherwise;
  auto it = schema.find("$schema");
  if (it == schema.end() || !it->is_string()) return otherwise;
  const auto name = it->get<std::string>();
  if (name.find("draft-07") != std::string::npos || name.find("draft-06") != std::string::npos) {
    return Draft::k7;
  }
  return name.find("2019-09") != std::string::npos ? Draft::k2019 : Draft::k2020;
}

std::string escaped(const std::string& token) {
  std::string result;
  for (const char c : token) result += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return result;
}

// Where a subschema stands.
struct Place {
  const Json* schema = nullptr;
  std::string base;  // URI of its resource
  std::string path;  // pointer from the document's root
  Draft draft = Draft::k2020;
  bool entered = false;  // its own $id and $schema are in base and draft
};

}  // namespace

namespace {

// Finds resources and anchors of a document.
class Identifiers {
 public:
  void add(const Place& place) {
    walk(place, 0);
    // A document can also be named by where it was found.
    Place entered = place;
    enter(entered);
    resources_.emplace(place.base, entered);
  }

  [[nodiscard]] const Place* resource(const std::string& uri) const {
    auto it = resources_.find(uri);
    return it == resources_.end() ? nullptr : &it->second;
  }
  [[nodiscard]] const Place* anchor(const std::string& uri, const std::string& name) const {
    auto it = anchors_.find({uri, name});
    return it == anchors_.end() ? nullptr : &it->second;
  }
  [[nodiscard]] const auto& dynamic_anchors() const { return dynamic_; }

  // What a subschema's own $id makes of the base that it inherits.
  static void enter(Place& place) {
    if (place.entered || !place.schema->is_object()) return;
    place.entered = true;
    place.draft = draft_of(*place.schema, place.draft);
    auto id = place.schema->find("$id");
    if (id == place.schema->end() || !id->is_string()) return;
    // In draft 7 a $ref hides what stands beside it.
    if (place.draft == Draft::k7 && place.schema->contains("$ref")) return;
    const UriParts parts = split_fragment(id->get<std::string>());
    if (!parts.uri.empty()) place.base = resolve_uri(place.base, parts.uri);
  }

 private:
  void walk(Place place, int depth) {
    require_data(depth < 256, "schema{}: nested deeper than 256", place.path);
    if (!place.schema->is_object()) return;
    const std::string inherited = place.base;
    enter(place);
    if (depth == 0 || place.base != inherited) resources_.emplace(place.base, place);
    const Json& schema = *place.schema;
    if (place.draft == Draft::k7 && schema.contains("$ref") && depth > 0) {
      walk_maps(schema, place, depth);
      return;
    }
    if (auto id = schema.find("$id"); id != schema.end() && id->is_string()) {
      const UriParts parts = split_fragment(id->get<std::string>());
      if (!parts.fragment.empty()) anchors_.emplace(std::pair(place.base, parts.fragment), place);
    }
    name_anchor(schema, "$anchor", place, false);
    name_anchor(schema, "$dynamicAnchor", place, true);
    if (auto it = schema.find("$recursiveAnchor"); it != schema.end() && *it == true) {
      dynamic_.emplace(std::pair(place.base, std::string("$recursive")), place);
    }
    for (const char* key : kSingle) {
      if (auto it = schema.find(key); it != schema.end() && it->is_object()) {
        descend(place, *it, std::string("/") + key, depth);
      }
    }
    for (const char* key : kLists) {
      auto it = schema.find(key);
      if (it == schema.end() || !it->is_array()) continue;
      for (size_t i = 0; i < it->size(); ++i) {
        descend(place, (*it)[i], fmt::format("/{}/{}", key, i), depth);
      }
    }
    walk_maps(schema, place, depth);
  }
  void walk_maps(const Json& schema, const Place& place, int depth) {
    for (const char* key : kMaps) {
      auto it = schema.find(key);
      if (it == schema.end() || !it->is_object()) continue;
      for (const auto& [name, value] : it->items()) {
        descend(place, value, fmt::format("/{}/{}", key, escaped(name)), depth);
      }
    }
  }
  void descend(const Place& place, const Json& child, const std::string& path, int depth) {
    walk({&child, place.base, place.path + path, place.draft}, depth + 1);
  }
  void name_anchor(const Json& schema, const char* key, const Place& place, bool dynamic) {
    auto it = schema.find(key);
    if (it == schema.end() || !it->is_string()) return;
    const auto name = it->get<std::string>();
    anchors_.emplace(std::pair(place.base, name), place);
    if (dynamic) dynamic_.emplace(std::pair(place.base, name), place);
  }

  std::map<std::string, Place> resources_;
  std::map<std::pair<std::string, std::string>, Place> anchors_;
  std::map<std::pair<std::string, std::string>, Place> dynamic_;
};

}  // namespace

// Builds nodes on demand, one for each subschema that is reached.
class SchemaCompiler {
 public:
  using Node = JsonSchema::Node;

  SchemaCompiler(JsonSchema::State& state, const std::map<std::string, Json>& known)
      : state_(state), known_(known) {}

  void run() {
    Place root{&state_.document, "", "", draft_of(state_.document, Draft::k2020)};
    require_data(
        root.schema->is_object() || root.schema->is_boolean(),
        "a JSON Schema must be an object or a boolean, found {}",
        root.schema->type_name()
    );
    identifiers_.add(root);
    for (const auto& [uri, document] : known_) {
      identifiers_.add({&document, uri, "", draft_of(document, Draft::k2020)});
    }
    state_.root = node(root);
    // Anchors of resources that can be in the dynamic scope; compiling them may reach others.
    for (size_t before = 0; before != state_.nodes.size();) {
      before = state_.nodes.size();
      std::set<std::string> reached;
      for (const Node& made : state_.nodes) reached.insert(made.resource);
      for (const auto& [key, place] : identifiers_.dynamic_anchors()) {
        if (reached.contains(key.first)) state_.dynamic_anchors[key] = node(place);
      }
    }
    for (const std::string& name : unsupported_) state_.unsupported.push_back(name);
  }

 private:
  [[noreturn]] static void fail(const Place& place, const std::string& message) {
    throw DataError(fmt::format("schema at \"#{}\": {}", place.path, message));
  }

  const Node* node(Place place) {
    if (auto it = made_.find(place.schema); it != made_.end()) return it->second;
    Identifiers::enter(place);
    Node& node = state_.nodes.emplace_back();
    made_[place.schema] = &node;
    node.path = "#" + place.path;
    node.resource = place.base;
    if (place.schema->is_boolean()) {
      node.never = !place.schema->get<bool>();
    } else if (place.schema->is_object()) {
      keywords(node, place);
    } else {
      fail(
          place, fmt::format("expected an object or a boolean, found {}", place.schema->type_name())
      );
    }
    return &node;
  }
  const Node* child(const Place& place, const Json& schema, const std::string& path) {
    return node({&schema, place.base, place.path + path, place.draft});
  }

  const Json* get(const Place& place, const char* key) const {
    auto it = place.schema->find(key);
    return it == place.schema->end() ? nullptr : &*it;
  }
  const Node* single(const Place& place, const char* key) {
    const Json* value = get(place, key);
    return value == nullptr ? nullptr : child(place, *value, std::string("/") + key);
  }
  std::vector<const Node*> list(const Place& place, const char* key) {
    std::vector<const Node*> nodes;
    const Json* value = get(place, key);
    if (value == nullptr) return nodes;
    if (!value->is_array()) fail(place, fmt::format("\"{}\" must be a list", key));
    for (size_t i = 0; i < value->size(); ++i) {
      nodes.push_back(child(place, (*value)[i], fmt::format("/{}/{}", key, i)));
    }
    return nodes;
  }
  void each(
      const Place& place,
      const char* key,
      const std::function<void(const std::string&, const Json&, const std::string&)>& visit
  ) {
    const Json* value = get(place, key);
    if (value == nullptr) return;
    if (!value->is_object()) fail(place, fmt::format("\"{}\" must be an object", key));
    for (const auto& [name, entry] : value->items()) {
      visit(name, entry, fmt::format("/{}/{}", key, escaped(name)));
    }
  }
  std::optional<double> number(const Place& place, const char* key) {
    const Json* value = get(place, key);
    if (value == nullptr) return std::nullopt;
    if (!value->is_number()) fail(place, fmt::format("\"{}\" must be a number", key));
    return value->get<double>();
  }
  std::optional<uint64_t> count(const Place& place, const char* key) {
    const auto value = number(place, key);
    if (!value) return std::nullopt;
    if (*value < 0 || *value != std::floor(*value)) {
      fail(place, fmt::format("\"{}\" must be a non-negative integer", key));
    }
    return static_cast<uint64_t>(*value);
  }
  std::vector<std::string> strings(const Place& place, const Json& value, const char* key) {
    std::vector<std::string> result;
    if (!value.is_array()) fail(place, fmt::format("\"{}\" must be a list of strings", key));
    for (const Json& item : value) {
      if (!item.is_string()) fail(place, fmt::format("\"{}\" must be a list of strings", key));
      result.push_back(item.get<std::string>());
    }
    return result;
  }
  std::unique_ptr<EcmaRegex> regex(const Place& place, const std::string& pattern) {
    try {
      return std::make_unique<EcmaRegex>(pattern);
    } catch (const DataError& e) {
      fail(place, e.what());
    }
  }

  static unsigned type_bit(const Place& place, const Json& name) {
    static const std::map<std::string, unsigned> bits{
        {"null", kTypeNull},
        {"boolean", kTypeBoolean},
        {"object", kTypeObject},
        {"array", kTypeArray},
        {"number", kTypeNumber},
        {"string", kTypeString},
        {"integer", kTypeInteger}};
    auto it = name.is_string() ? bits.find(name.get<std::string>()) : bits.end();
    if (it == bits.end()) fail(place, fmt::format("unknown type {}", dump_json(name)));
    return it->second;
  }

  void keywords(Node& node, const Place& place) {
    if (place.draft == Draft::k7 && place.schema->contains("$ref")) {
      references(node, place);
      return;
    }
    general(node, place);
    arrays(node, place);
    objects(node, place);
    references(node, place);
    report_unknown(place);
  }

  void general(Node& node, const Place& place) {
    if (const Json* type = get(place, "type")) {
      if (type->is_array()) {
        for (const Json& name : *type) node.types |= type_bit(place, name);
      } else {
        node.types = type_bit(place, *type);
      }
    }
    if (const Json* value = get(place, "enum")) {
      if (!value->is_array()) fail(place, "\"enum\" must be a list");
      node.enumeration.emplace(value->begin(), value->end());
    }
    if (const Json* value = get(place, "const")) node.constant = *value;
    node.multiple_of = number(place, "multipleOf");
    if (node.multiple_of && *node.multiple_of <= 0) fail(place, "\"multipleOf\" must be above 0");
    node.maximum = number(place, "maximum");
    node.exclusive_maximum = number(place, "exclusiveMaximum");
    node.minimum = number(place, "minimum");
    node.exclusive_minimum = number(place, "exclusiveMinimum");
    node.max_length = count(place, "maxLength");
    node.min_length = count(place, "minLength");
    if (const Json* value = get(place, "pattern")) {
      if (!value->is_string()) fail(place, "\"pattern\" must be a string");
      node.pattern = regex(place, value->get<std::string>());
    }
    node.all_of = list(place, "allOf");
    node.any_of = list(place, "anyOf");
    node.one_of = list(place, "oneOf");
    node.negation = single(place, "not");
    node.condition = single(place, "if");
    node.then = single(place, "then");
    node.otherwise = single(place, "else");
  }

  void arrays(Node& node, const Place& place) {
    const Json* items = get(place, "items");
    if (place.draft != Draft::k2020 && items != nullptr && items->is_array()) {
      node.prefix_items = list(place, "items");
      node.items = single(place, "additionalItems");
    } else {
      if (items != nullptr && items->is_array()) {
        fail(place, "\"items\" as a list belongs to earlier drafts: use \"prefixItems\"");
      }
      if (place.draft == Draft::k2020) node.prefix_items = list(place, "prefixItems");
      node.items = single(place, "items");
    }
    node.contains = single(place, "contains");
    node.max_items = count(place, "maxItems");
    node.min_items = count(place, "minItems");
    if (place.draft != Draft::k7) {
      node.max_contains = count(place, "maxContains");
      node.min_contains = count(place, "minContains");
      node.unevaluated_items = single(place, "unevaluatedItems");
    }
    if (const Json* value = get(place, "uniqueItems")) {
      if (!value->is_boolean()) fail(place, "\"uniqueItems\" must be a boolean");
      node.unique_items = value->get<bool>();
    }
  }

  void objects(Node& node, const Place& place) {
    each(place, "properties", [&](const auto& name, const Json& schema, const auto& path) {
      node.properties[name] = child(place, schema, path);
    });
    each(place, "patternProperties", [&](const auto& name, const Json& schema, const auto& path) {
      node.pattern_properties.emplace_back(regex(place, name), child(place, schema, path));
    });
    node.additional_properties = single(place, "additionalProperties");
    node.property_names = single(place, "propertyNames");
    if (const Json* value = get(place, "required")) {
      node.required = strings(place, *value, "required");
    }
    const auto dependent_list = [&](const auto& name, const Json& value, const auto&) {
      node.dependent_required[name] = strings(place, value, "dependentRequired");
    };
    const auto dependent_schema = [&](const auto& name, const Json& value, const auto& path) {
      node.dependent_schemas[name] = child(place, value, path);
    };
    if (place.draft != Draft::k7) {
      each(place, "dependentRequired", dependent_list);
      each(place, "dependentSchemas", dependent_schema);
      node.unevaluated_properties = single(place, "unevaluatedProperties");
    }
    each(place, "dependencies", [&](const auto& name, const Json& value, const auto& path) {
      if (value.is_array()) {
        dependent_list(name, value, path);
      } else {
        dependent_schema(name, value, path);
      }
    });
    node.max_properties = count(place, "maxProperties");
    node.min_properties = count(place, "minProperties");
  }

  void references(Node& node, const Place& place) {
    if (const Json* value = get(place, "$ref")) node.ref = target(place, *value, "$ref").first;
    if (const Json* value = get(place, "$dynamicRef"); value && place.draft == Draft::k2020) {
      const auto [found, anchor] = target(place, *value, "$dynamicRef");
      node.dynamic_ref = found;
      // Dynamic only when the static target was itself made by $dynamicAnchor.
      const auto& dynamic = identifiers_.dynamic_anchors();
      if (!anchor.empty() && dynamic.contains({found->resource, anchor}))
        node.dynamic_anchor = anchor;
    }
    if (const Json* value = get(place, "$recursiveRef"); value && place.draft == Draft::k2019) {
      node.dynamic_ref = target(place, *value, "$recursiveRef").first;
      if (identifiers_.dynamic_anchors().contains({node.dynamic_ref->resource, "$recursive"})) {
        node.dynamic_anchor = "$recursive";
      }
    }
  }

  // The node that a reference names, and its anchor when it names one.
  std::pair<const Node*, std::string> target(
      const Place& place, const Json& value, const char* key
  ) {
    if (!value.is_string()) fail(place, fmt::format("\"{}\" must be a string", key));
    const auto reference = value.get<std::string>();
    const UriParts parts = split_fragment(reference);
    const std::string uri = resolve_uri(place.base, parts.uri);
    const Place* resource = identifiers_.resource(uri);
    if (resource == nullptr) {
      fail(
          place,
          fmt::format("{} \"{}\" is not in this document; nothing is fetched", key, reference)
      );
    }
    if (parts.fragment.empty()) return {node(*resource), ""};
    if (parts.fragment.starts_with("/"))
      return {node(pointer(place, *resource, parts.fragment)), ""};
    const Place* anchor = identifiers_.anchor(uri, parts.fragment);
    if (anchor == nullptr) {
      fail(place, fmt::format("{} \"{}\": no such anchor", key, reference));
    }
    return {node(*anchor), parts.fragment};
  }

  Place pointer(const Place& from, const Place& root, const std::string& fragment) {
    Place place = root;
    size_t at = 1;
    while (true) {
      const size_t slash = fragment.find('/', at);
      std::string token = fragment.substr(at, slash - at);
      const std::string raw = token;
      for (size_t tilde = token.find('~'); tilde != std::string::npos;
           tilde = token.find('~', tilde + 1)) {
        const bool is_slash = tilde + 1 < token.size() && token[tilde + 1] == '1';
        token.replace(tilde, 2, is_slash ? "/" : "~");
      }
      const Json* next = nullptr;
      if (place.schema->is_object()) {
        auto it = place.schema->find(token);
        if (it != place.schema->end()) next = &*it;
      } else if (place.schema->is_array() && !token.empty() && token.find_first_not_of("0123456789") == std::string::npos) {
        const size_t index = std::stoul(token);
        if (index < place.schema->size()) next = &(*place.schema)[index];
      }
      if (next == nullptr) fail(from, fmt::format("\"#{}\" points at nothing", fragment));
      place.schema = next;
      place.entered = false;
      place.path += "/" + raw;
      if (slash == std::string::npos) return place;
      Identifiers::enter(place);
      at = slash + 1;
    }
  }

  void report_unknown(const Place& place) {
    static const std::set<std::string> known{
        "$ref",
        "$dynamicRef",
        "$recursiveRef",
        "type",
        "enum",
        "const",
        "multipleOf",
        "maximum",
        "exclusiveMaximum",
        "minimum",
        "exclusiveMinimum",
        "maxLength",
        "minLength",
        "pattern",
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "if",
        "then",
        "else",
        "prefixItems",
        "items",
        "additionalItems",
        "contains",
        "maxItems",
        "minItems",
        "maxContains",
        "minContains",
        "uniqueItems",
        "unevaluatedItems",
        "properties",
        "patternProperties",
        "additionalProperties",
        "propertyNames",
        "required",
        "dependentRequired",
        "dependentSchemas",
        "dependencies",
        "maxProperties",
        "minProperties",
        "unevaluatedProperties"};
    for (const auto& [name, value] : place.schema->items()) {
      if (!known.contains(name) && !annotations().contains(name)) unsupported_.insert(name);
    }
  }

  JsonSchema::State& state_;
  const std::map<std::string, Json>& known_;
  Identifiers identifiers_;
  std::map<const Json*, const Node*> made_;
  std::set<std::string> unsupported_;
};

JsonSchema::JsonSchema(std::unique_ptr<State> state) : state_(std::move(state)) {}
JsonSchema::JsonSchema(JsonSchema&&) noexcept = default;
JsonSchema& JsonSchema::operator=(JsonSchema&&) noexcept = default;
JsonSchema::~JsonSchema() = default;

JsonSchema JsonSchema::compile(const Json& schema, const std::map<std::string, Json>& known) {
  auto state = std::make_unique<State>();
  state->document = schema;
  SchemaCompiler(*state, known).run();
  return JsonSchema(std::move(state));
}

const std::vector<std::string>& JsonSchema::unsupported() const {
  return state_->unsupported;
}

}  // namespace hone
