// From documents to nodes: identifiers were found by the index, here keywords are read.
#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>
#include <unordered_set>

#include "core/base/error.h"
#include "core/json/number.h"
#include "core/json/schema.h"
#include "core/json/schema_formats.h"
#include "core/json/schema_index.h"
#include "core/json/schema_keywords.h"
#include "core/json/schema_node.h"
#include "core/json/schema_state.h"
#include "core/json/schema_uri.h"

namespace hone {
namespace {

constexpr std::array<std::pair<const char*, unsigned>, 7> kTypeNames{{
    {"null", kTypeNull},
    {"boolean", kTypeBoolean},
    {"object", kTypeObject},
    {"array", kTypeArray},
    {"number", kTypeNumber},
    {"string", kTypeString},
    {"integer", kTypeInteger},
}};

std::string describe(const Json& value) {
  std::string text = dump_json(value);
  if (text.size() > 60) text = text.substr(0, 60) + "...";
  return value.is_structured() ? std::string(value.type_name()) : text;
}

}  // namespace

unsigned schema_type_of(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null:
      return kTypeNull;
    case Json::value_t::boolean:
      return kTypeBoolean;
    case Json::value_t::object:
      return kTypeObject;
    case Json::value_t::array:
      return kTypeArray;
    case Json::value_t::string:
      return kTypeString;
    default:
      break;
  }
  return is_integral(value) ? kTypeNumber | kTypeInteger : kTypeNumber;
}

std::string schema_type_names(unsigned types) {
  std::string text;
  for (const auto& [name, bit] : kTypeNames) {
    if ((types & bit) != 0) text += (text.empty() ? "" : " or ") + std::string(name);
  }
  return text;
}

// Makes one node for each subschema that is reached; a work list instead of recursion, so that
// cycles of references end.
class SchemaCompiler {
 public:
  explicit SchemaCompiler(JsonSchema::State& state) : state_(state) {}

  void run(const Json& document) {
    require_data(
        document.is_object() || document.is_boolean(),
        "schema: a JSON Schema must be an object or a boolean, found {}",
        describe(document)
    );
    state_.root = node(state_.index.add_root(document));
    // Reading a node may add documents, whose dynamic anchors must be there for validation.
    do {
      while (!waiting_.empty()) {
        const auto [made, place] = waiting_.back();
        waiting_.pop_back();
        read(*made, place);
      }
      add_dynamic_targets();
    } while (!waiting_.empty());
    refuse_endless_references();
    for (const std::string& uri : state_.index.unknown_metaschemas()) {
      unsupported_.insert(fmt::format("$schema \"{}\"", uri));
    }
    state_.unsupported.assign(unsupported_.begin(), unsupported_.end());
  }

 private:
  template <typename... Args>
  [[noreturn]] static void fail(
      const SchemaPlace& place,
      const char* keyword,
      fmt::format_string<Args...> format,
      Args&&... args
  ) {
    throw DataError(fmt::format(
        "schema {}/{}: {}", place.path, keyword, fmt::format(format, std::forward<Args>(args)...)
    ));
  }

  SchemaNode* node(const SchemaPlace& place) {
    const auto [it, added] = made_.emplace(place.schema, nullptr);
    if (!added) return it->second;
    SchemaNode& fresh = state_.nodes.emplace_back();
    it->second = &fresh;
    fresh.path = place.path;
    fresh.resource = place.resource;
    fresh.source = place.schema;
    waiting_.emplace_back(&fresh, place);
    return &fresh;
  }

  const SchemaNode* child(const Json& schema) { return node(state_.index.place_of(schema)); }

  void read(SchemaNode& made, const SchemaPlace& place) {
    const Json& schema = *place.schema;
    if (schema.is_boolean()) {
      made.never = !schema.get<bool>();
      return;
    }
    require_data(
        schema.is_object(),
        "schema {}: expected an object or a boolean, found {}",
        place.path,
        describe(schema)
    );
    const bool ref_alone = place.resource->draft <= SchemaDraft::k7 && schema.contains("$ref") &&
                           schema.at("$ref").is_string();
    if (!ref_alone) {
      read_values(made, place);
      read_numbers(made, place);
      read_arrays(made, place);
      read_objects(made, place);
      read_applicators(made, place);
    }
    read_references(made, place);
    report_unsupported(place, ref_alone);
  }

  // The keyword's value, when the draft has the keyword.
  static const Json* get(const SchemaPlace& place, const char* key) {
    const auto it = place.schema->find(key);
    if (it == place.schema->end()) return nullptr;
    const SchemaResource& resource = *place.resource;
    return find_keyword(key, resource.draft, resource.vocabularies) == nullptr ? nullptr : &*it;
  }

  static const Json* get_number(const SchemaPlace& place, const char* key) {
    const Json* value = get(place, key);
    if (value != nullptr && !value->is_number()) {
      fail(place, key, "expected a number, found {}", describe(*value));
    }
    return value;
  }

  static std::optional<uint64_t> get_count(const SchemaPlace& place, const char* key) {
    const Json* value = get(place, key);
    if (value == nullptr) return std::nullopt;
    if (!value->is_number() || !is_integral(*value) || compare_numbers(*value, 0) < 0) {
      fail(place, key, "expected a non-negative integer, found {}", describe(*value));
    }
    // Beyond 2^63 no instance is that long.
    constexpr auto kMost = std::numeric_limits<int64_t>::max();
    if (compare_numbers(*value, kMost) >= 0) return static_cast<uint64_t>(kMost);
    return value->get<uint64_t>();
  }

  static bool get_bool(const SchemaPlace& place, const char* key) {
    const Json* value = get(place, key);
    if (value == nullptr) return false;
    if (!value->is_boolean()) {
      fail(place, key, "expected true or false, found {}", describe(*value));
    }
    return value->get<bool>();
  }

  static const Json* get_string(const SchemaPlace& place, const char* key) {
    const Json* value = get(place, key);
    if (value != nullptr && !value->is_string()) {
      fail(place, key, "expected a string, found {}", describe(*value));
    }
    return value;
  }

  static const Json* get_list(const SchemaPlace& place, const char* key) {
    const Json* value = get(place, key);
    if (value != nullptr && !value->is_array()) {
      fail(place, key, "expected a list, found {}", describe(*value));
    }
    return value;
  }

  static const Json* get_object(const SchemaPlace& place, const char* key) {
    const Json* value = get(place, key);
    if (value != nullptr && !value->is_object()) {
      fail(place, key, "expected an object, found {}", describe(*value));
    }
    return value;
  }

  static std::vector<std::string> names(
      const SchemaPlace& place, const char* key, const Json& list
  ) {
    std::vector<std::string> result;
    if (!list.is_array()) fail(place, key, "expected a list of strings, found {}", describe(list));
    for (const Json& item : list) {
      if (!item.is_string()) {
        fail(place, key, "expected a list of strings, found {} in it", describe(item));
      }
      result.push_back(item.get<std::string>());
    }
    return result;
  }

  std::shared_ptr<const EcmaRegex> regex(
      const SchemaPlace& place, const char* key, const std::string& text
  ) {
    auto& compiled = regexes_[text];
    if (compiled == nullptr) {
      try {
        compiled = std::make_shared<const EcmaRegex>(text);
      } catch (const DataError& error) {
        fail(place, key, "{}", error.what());
      }
    }
    return compiled;
  }

  const SchemaNode* subschema(const SchemaPlace& place, const char* key) {
    const Json* value = get(place, key);
    return value == nullptr ? nullptr : child(*value);
  }

  std::vector<const SchemaNode*> subschemas(const SchemaPlace& place, const char* key) {
    std::vector<const SchemaNode*> result;
    const Json* list = get_list(place, key);
    if (list == nullptr) return result;
    for (const Json& schema : *list) result.push_back(child(schema));
    return result;
  }

  void read_values(SchemaNode& made, const SchemaPlace& place) {
    if (const Json* type = get(place, "type")) {
      const auto add = [&](const Json& name) {
        const auto known = std::ranges::find_if(kTypeNames, [&](const auto& row) {
          return name.is_string() && name.get_ref<const std::string&>() == row.first;
        });
        if (known == kTypeNames.end()) {
          fail(
              place,
              "type",
              "expected null, boolean, object, array, number, string or integer, found {}",
              describe(name)
          );
        }
        made.types |= known->second;
      };
      if (type->is_array()) {
        std::ranges::for_each(*type, add);
        if (type->empty()) fail(place, "type", "the list is empty");
      } else {
        add(*type);
      }
    }
    made.enumeration = get_list(place, "enum");
    made.constant = get(place, "const");
    made.max_length = get_count(place, "maxLength");
    made.min_length = get_count(place, "minLength");
    if (const Json* text = get_string(place, "pattern")) {
      made.pattern_text = text->get<std::string>();
      made.pattern = regex(place, "pattern", made.pattern_text);
    }
    if (const Json* format = get_string(place, "format")) {
      made.format = format->get<std::string>();
      if (place.resource->assert_formats) {
        made.assert_format = is_known_format(made.format);
        if (!made.assert_format) {
          unsupported_.insert(fmt::format("format \"{}\"", made.format));
        }
      }
    }
  }

  void read_numbers(SchemaNode& made, const SchemaPlace& place) {
    made.multiple_of = get_number(place, "multipleOf");
    if (made.multiple_of != nullptr && !(compare_numbers(*made.multiple_of, 0) > 0)) {
      fail(place, "multipleOf", "expected a number above 0, found {}", describe(*made.multiple_of));
    }
    made.maximum = get_number(place, "maximum");
    made.minimum = get_number(place, "minimum");
    if (place.resource->draft == SchemaDraft::k4) {
      // Flags that make the bound beside them exclusive.
      if (get_bool(place, "exclusiveMaximum")) {
        std::swap(made.exclusive_maximum, made.maximum);
      }
      if (get_bool(place, "exclusiveMinimum")) {
        std::swap(made.exclusive_minimum, made.minimum);
      }
      return;
    }
    for (const char* key : {"exclusiveMaximum", "exclusiveMinimum"}) {
      const Json* value = get(place, key);
      if (value != nullptr && value->is_boolean()) {
        fail(
            place,
            key,
            "true and false belong to draft 4, this is {}; write the bound here, or set "
            "\"$schema\" to \"http://json-schema.org/draft-04/schema#\"",
            schema_draft_name(place.resource->draft)
        );
      }
    }
    made.exclusive_maximum = get_number(place, "exclusiveMaximum");
    made.exclusive_minimum = get_number(place, "exclusiveMinimum");
  }

  void read_arrays(SchemaNode& made, const SchemaPlace& place) {
    const SchemaDraft draft = place.resource->draft;
    const Json* items = get(place, "items");
    if (items != nullptr && items->is_array()) {
      if (draft == SchemaDraft::k2020) {
        fail(
            place,
            "items",
            "a list belongs to drafts before 2020-12; use \"prefixItems\", or set \"$schema\" to "
            "\"http://json-schema.org/draft-07/schema#\""
        );
      }
      made.prefix_items = subschemas(place, "items");
      made.items = subschema(place, "additionalItems");
      made.items_keyword = "additionalItems";
    } else {
      made.prefix_items = subschemas(place, "prefixItems");
      if (items != nullptr) made.items = child(*items);
    }
    made.contains = subschema(place, "contains");
    made.contains_evaluates = draft == SchemaDraft::k2020;
    made.max_contains = get_count(place, "maxContains");
    made.min_contains = get_count(place, "minContains");
    made.max_items = get_count(place, "maxItems");
    made.min_items = get_count(place, "minItems");
    made.unique_items = get_bool(place, "uniqueItems");
    made.unevaluated_items = subschema(place, "unevaluatedItems");
  }

  void read_objects(SchemaNode& made, const SchemaPlace& place) {
    if (const Json* properties = get_object(place, "properties")) {
      for (const auto& [name, schema] : properties->items()) made.properties[name] = child(schema);
    }
    if (const Json* patterns = get_object(place, "patternProperties")) {
      for (const auto& [text, schema] : patterns->items()) {
        made.pattern_properties.push_back(
            {text, regex(place, "patternProperties", text), child(schema)}
        );
      }
    }
    made.additional_properties = subschema(place, "additionalProperties");
    made.property_names = subschema(place, "propertyNames");
    made.unevaluated_properties = subschema(place, "unevaluatedProperties");
    made.max_properties = get_count(place, "maxProperties");
    made.min_properties = get_count(place, "minProperties");
    if (const Json* required = get(place, "required")) {
      made.required = names(place, "required", *required);
    }
    if (const Json* dependent = get_object(place, "dependentRequired")) {
      for (const auto& [name, list] : dependent->items()) {
        made.dependent_required.emplace_back(name, names(place, "dependentRequired", list));
      }
    }
    if (const Json* dependent = get_object(place, "dependentSchemas")) {
      for (const auto& [name, schema] : dependent->items()) {
        made.dependent_schemas.emplace_back(name, child(schema));
      }
    }
    if (const Json* dependent = get_object(place, "dependencies")) {
      for (const auto& [name, value] : dependent->items()) {
        if (value.is_array()) {
          made.dependent_required.emplace_back(name, names(place, "dependencies", value));
        } else {
          made.dependent_schemas.emplace_back(name, child(value));
        }
      }
    }
  }

  void read_applicators(SchemaNode& made, const SchemaPlace& place) {
    made.all_of = subschemas(place, "allOf");
    made.any_of = subschemas(place, "anyOf");
    made.one_of = subschemas(place, "oneOf");
    for (const char* key : {"allOf", "anyOf", "oneOf"}) {
      const Json* list = get(place, key);
      if (list != nullptr && list->empty()) fail(place, key, "the list is empty");
    }
    made.negation = subschema(place, "not");
    made.condition = subschema(place, "if");
    made.then = subschema(place, "then");
    made.otherwise = subschema(place, "else");
  }

  void read_references(SchemaNode& made, const SchemaPlace& place) {
    if (const Json* ref = get_string(place, "$ref")) {
      made.ref = node(state_.index.resolve(place, ref->get<std::string>()).place);
    }
    if (const Json* ref = get_string(place, "$dynamicRef")) {
      const auto target = state_.index.resolve(place, ref->get<std::string>());
      made.dynamic_ref = node(target.place);
      // Dynamic only where the static target was itself named by a $dynamicAnchor.
      const auto& anchors = target.place.resource->dynamic_anchors;
      if (!target.anchor.empty() && anchors.contains(target.anchor)) {
        made.dynamic_anchor = target.anchor;
      }
    }
    if (const Json* ref = get_string(place, "$recursiveRef")) {
      const auto target = state_.index.resolve(place, ref->get<std::string>());
      made.dynamic_ref = node(target.place);
      made.recursive = target.place.resource->recursive_anchor;
    }
  }

  void add_dynamic_targets() {
    for (SchemaResource& resource : state_.index.resources()) {
      for (auto& [name, target] : resource.dynamic_anchors) {
        if (target == nullptr) target = child(*resource.anchors.at(name));
      }
      if (resource.recursive_anchor && resource.root_node == nullptr) {
        resource.root_node = child(*resource.root);
      }
    }
  }

  // Built-in metaschemas are not the user's to mend, so only what stands in other documents counts.
  void report_unsupported(const SchemaPlace& place, bool ref_alone) {
    if (is_built_in(place)) return;
    const SchemaResource& resource = *place.resource;
    for (const auto& [name, value] : place.schema->items()) {
      const bool known = find_keyword(name, resource.draft, resource.vocabularies) != nullptr;
      if (ref_alone && known && name != "$ref" && name != "definitions" && name != "$defs" &&
          is_assertion(name, resource.draft)) {
        unsupported_.insert(
            fmt::format("{} (beside $ref in {})", name, schema_draft_name(resource.draft))
        );
      }
      if (known) continue;
      if (!is_keyword_of_some_draft(name)) {
        unsupported_.insert(name);
      } else if (find_keyword(name, resource.draft, ~0U) == nullptr) {
        // $defs in draft 7 only holds what references name; that works in every draft.
        if (name == "$defs" || name == "$id" || name == "id" || name == "contentSchema") continue;
        unsupported_.insert(fmt::format("{} (not in {})", name, schema_draft_name(resource.draft)));
      }
    }
  }

  static bool is_assertion(const std::string& name, SchemaDraft draft) {
    constexpr unsigned kSilent = kVocabularyCore | kVocabularyMetaData | kVocabularyContent |
                                 kVocabularyFormat | kVocabularyFormatAssertion;
    const SchemaKeyword* keyword = find_keyword(name, draft, ~0U);
    return keyword != nullptr && (keyword->vocabulary & kSilent) == 0;
  }

  static bool is_built_in(const SchemaPlace& place) {
    return place.resource->prefix.find("://json-schema.org/draft") != std::string::npos;
  }

  // A reference that comes back to where it started without going down the instance never ends,
  // whatever the instance.
  void refuse_endless_references() const {
    enum class Mark : uint8_t { kOpen, kDone };
    std::unordered_map<const SchemaNode*, Mark> marks;
    struct Frame {
      const SchemaNode* node;
      std::vector<const SchemaNode*> next;
    };
    const auto frame = [](const SchemaNode* made) {
      Frame result{made, made->all_of};
      for (const auto* list : {&made->any_of, &made->one_of}) {
        // Only the first alternative is surely tried.
        if (!list->empty()) result.next.push_back(list->front());
      }
      for (const SchemaNode* one : {made->ref, made->negation, made->condition}) {
        if (one != nullptr) result.next.push_back(one);
      }
      return result;
    };
    for (const SchemaNode& start : state_.nodes) {
      if (marks.contains(&start)) continue;
      std::vector<Frame> stack{frame(&start)};
      marks[&start] = Mark::kOpen;
      while (!stack.empty()) {
        if (stack.back().next.empty()) {
          marks[stack.back().node] = Mark::kDone;
          stack.pop_back();
          continue;
        }
        const SchemaNode* next = stack.back().next.back();
        stack.back().next.pop_back();
        const auto known = marks.find(next);
        if (known == marks.end()) {
          marks[next] = Mark::kOpen;
          stack.push_back(frame(next));
        } else {
          require_data(
              known->second == Mark::kDone,
              "schema {}: a reference leads back to it without going into the instance, so "
              "validation would never end",
              next->path.empty() ? "/" : next->path
          );
        }
      }
    }
  }

  JsonSchema::State& state_;
  std::unordered_map<const Json*, SchemaNode*> made_;
  std::vector<std::pair<SchemaNode*, SchemaPlace>> waiting_;
  std::map<std::string, std::shared_ptr<const EcmaRegex>> regexes_;
  std::set<std::string> unsupported_;
};

JsonSchema::JsonSchema(std::unique_ptr<State> state) : state_(std::move(state)) {}
JsonSchema::JsonSchema(JsonSchema&&) noexcept = default;
JsonSchema& JsonSchema::operator=(JsonSchema&&) noexcept = default;
JsonSchema::~JsonSchema() = default;

JsonSchema JsonSchema::compile(const Json& schema, const SchemaOptions& options) {
  auto state = std::make_unique<State>(options);
  SchemaCompiler(*state).run(schema);
  state->index.release_options();
  return JsonSchema(std::move(state));
}

const std::vector<std::string>& JsonSchema::unsupported() const {
  return state_->unsupported;
}

const SchemaNode& JsonSchema::root() const {
  return *state_->root;
}

}  // namespace hone
