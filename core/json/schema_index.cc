#include "core/json/schema_index.h"

#include <utility>

#include "core/base/error.h"
#include "core/json/schema_keywords.h"
#include "core/json/schema_metaschemas.h"
#include "core/json/schema_uri.h"

namespace hone {
namespace {

const Json* find_string(const Json& schema, const char* key) {
  const auto it = schema.find(key);
  return it != schema.end() && it->is_string() ? &*it : nullptr;
}

const char* id_keyword(SchemaDraft draft) {
  return draft == SchemaDraft::k4 ? "id" : "$id";
}

// Up to draft 7 nothing beside $ref counts.
bool hides_siblings(const Json& schema, SchemaDraft draft) {
  return draft <= SchemaDraft::k7 && find_string(schema, "$ref") != nullptr;
}

}  // namespace

std::string schema_draft_name(SchemaDraft draft) {
  switch (draft) {
    case SchemaDraft::k4:
      return "draft 4";
    case SchemaDraft::k6:
      return "draft 6";
    case SchemaDraft::k7:
      return "draft 7";
    case SchemaDraft::k2019:
      return "draft 2019-09";
    case SchemaDraft::k2020:
      break;
  }
  return "draft 2020-12";
}

SchemaPlace SchemaIndex::add_root(Json document) {
  return add_document("", std::move(document), "");
}

SchemaPlace SchemaIndex::add_document(
    const std::string& uri, Json document, const std::string& prefix
) {
  const Json& root = documents_.emplace_back(std::move(document));
  SchemaResource& resource = resources_.emplace_back();
  resource.uri = uri;
  resource.prefix = prefix;
  resource.draft = options_->draft;
  resource.assert_formats = options_->assert_formats;
  resource.root = &root;
  by_uri_.emplace(uri, &resource);
  if (root.is_object()) choose_draft(resource, root);
  walk(root, &resource, prefix);
  return places_.at(&root);
}

// Draft and vocabularies by "$schema".
void SchemaIndex::choose_draft(SchemaResource& resource, const Json& schema) {
  const Json* name = find_string(schema, "$schema");
  if (name == nullptr) return;
  const std::string uri = split_fragment(name->get<std::string>()).uri;
  if (const auto draft = metaschema_draft(uri)) {
    resource.draft = *draft;
    resource.vocabularies = ~0U;
    return;
  }
  const Json* metaschema = find_document(uri);
  if (metaschema == nullptr || !metaschema->is_object()) {
    unknown_metaschemas_.push_back(uri);
    return;
  }
  // A metaschema of the user's: its own $schema gives the draft, its vocabularies what counts.
  if (const Json* above = find_string(*metaschema, "$schema")) {
    const auto draft = metaschema_draft(split_fragment(above->get<std::string>()).uri);
    if (draft) resource.draft = *draft;
  }
  const auto vocabularies = metaschema->find("$vocabulary");
  if (vocabularies == metaschema->end() || !vocabularies->is_object()) return;
  resource.vocabularies = kVocabularyCore;
  for (const auto& [vocabulary, needed] : vocabularies->items()) {
    const unsigned bits = vocabulary_bits(vocabulary);
    require_data(
        bits != 0 || needed != true,
        "schema {}: its metaschema \"{}\" requires the unknown vocabulary \"{}\"",
        resource.prefix,
        uri,
        vocabulary
    );
    resource.vocabularies |= bits;
  }
  if ((resource.vocabularies & kVocabularyFormatAssertion) != 0) resource.assert_formats = true;
}

void SchemaIndex::walk(const Json& schema, SchemaResource* resource, const std::string& path) {
  if (places_.contains(&schema)) return;
  if (schema.is_object()) resource = enter(schema, resource);
  places_.emplace(&schema, SchemaPlace{&schema, resource, path});
  if (schema.is_object()) walk_children(schema, resource, path);
}

// What the subschema's own $id makes of the resource around it; registers its anchors.
SchemaResource* SchemaIndex::enter(const Json& schema, SchemaResource* outer) {
  SchemaResource* resource = outer;
  const bool is_root = outer->root == &schema;
  // An embedded resource may be of another draft, which decides how its identifier is written.
  SchemaResource probe = *outer;
  if (!is_root && (find_string(schema, "$id") != nullptr || find_string(schema, "id") != nullptr)) {
    choose_draft(probe, schema);
  }
  const SchemaDraft draft = is_root ? outer->draft : probe.draft;
  const bool hidden = hides_siblings(schema, draft);
  const Json* id = hidden ? nullptr : find_string(schema, id_keyword(draft));
  std::string plain_name;
  if (id != nullptr) {
    const UriParts parts = split_fragment(id->get<std::string>());
    const std::string uri = parts.uri.empty() ? outer->uri : resolve_uri(outer->uri, parts.uri);
    if (is_root) {
      resource->uri = uri;
    } else if (!parts.uri.empty() && uri != outer->uri) {
      resource = &resources_.emplace_back(std::move(probe));
      resource->uri = uri;
      resource->root = &schema;
      resource->anchors.clear();
      resource->dynamic_anchors.clear();
      resource->recursive_anchor = false;
    }
    by_uri_.emplace(uri, resource);
    // Up to draft 7 "$id": "#name" is what later became $anchor.
    if (draft <= SchemaDraft::k7 && !parts.fragment.starts_with('/')) plain_name = parts.fragment;
  }
  if (!plain_name.empty()) add_anchor(*resource, plain_name, schema);
  if (draft >= SchemaDraft::k2019) {
    if (const Json* name = find_string(schema, "$anchor")) {
      add_anchor(*resource, name->get<std::string>(), schema);
    }
  }
  if (draft == SchemaDraft::k2020) {
    if (const Json* name = find_string(schema, "$dynamicAnchor")) {
      add_anchor(*resource, name->get<std::string>(), schema);
      resource->dynamic_anchors.emplace(name->get<std::string>(), nullptr);
    }
  }
  if (draft == SchemaDraft::k2019 && resource->root == &schema) {
    const auto it = schema.find("$recursiveAnchor");
    resource->recursive_anchor = it != schema.end() && *it == true;
  }
  return resource;
}

void SchemaIndex::add_anchor(
    SchemaResource& resource, const std::string& name, const Json& schema
) {
  const auto [it, added] = resource.anchors.emplace(name, &schema);
  require_data(
      added || it->second == &schema,
      "schema {}: the anchor \"{}\" is there twice",
      resource.prefix,
      name
  );
}

void SchemaIndex::walk_children(
    const Json& schema, SchemaResource* resource, const std::string& path
) {
  for (const auto& [key, value] : schema.items()) {
    const SchemaKeyword* keyword = find_keyword(key, resource->draft, resource->vocabularies);
    if (keyword == nullptr) continue;
    const std::string below = path + "/" + key;
    const auto walk_list = [&] {
      for (size_t i = 0; i < value.size(); ++i) {
        walk(value[i], resource, below + "/" + std::to_string(i));
      }
    };
    switch (keyword->shape) {
      case KeywordShape::kValue:
        break;
      case KeywordShape::kSchema:
        walk(value, resource, below);
        break;
      case KeywordShape::kSchemaList:
        if (value.is_array()) walk_list();
        break;
      case KeywordShape::kSchemaOrList:
        if (value.is_array()) {
          walk_list();
        } else {
          walk(value, resource, below);
        }
        break;
      case KeywordShape::kSchemaMap:
      case KeywordShape::kDependencies:
        if (!value.is_object()) break;
        for (const auto& [name, child] : value.items()) {
          if (keyword->shape == KeywordShape::kDependencies && child.is_array()) continue;
          walk(child, resource, below + "/" + escape_pointer(name));
        }
        break;
    }
  }
}

const SchemaPlace& SchemaIndex::place_of(const Json& schema) const {
  const auto it = places_.find(&schema);
  check(it != places_.end(), "schema index: a subschema was not walked");
  return it->second;
}

const Json* SchemaIndex::find_document(const std::string& uri) const {
  for (const std::string& name : {uri, uri + "#"}) {
    const auto it = options_->documents.find(name);
    if (it != options_->documents.end()) return &it->second;
  }
  return find_metaschema(uri);
}

SchemaIndex::Target SchemaIndex::resolve(const SchemaPlace& from, const std::string& reference) {
  const UriParts parts = split_fragment(reference);
  const std::string uri = resolve_uri(from.resource->uri, parts.uri);
  auto found = by_uri_.find(uri);
  if (found == by_uri_.end()) {
    const Json* document = find_document(uri);
    require_data(
        document != nullptr,
        "schema {}: reference \"{}\": there is no schema with the URI \"{}\" in this document, and "
        "nothing is fetched",
        from.path,
        reference,
        uri
    );
    add_document(uri, *document, uri + "#");
    found = by_uri_.find(uri);
  }
  SchemaResource* resource = found->second;
  const SchemaPlace root = places_.at(resource->root);
  if (parts.fragment.empty()) return {root, ""};
  if (parts.fragment.starts_with('/')) return {follow(from, root, parts.fragment), ""};
  const auto anchor = resource->anchors.find(parts.fragment);
  require_data(
      anchor != resource->anchors.end(),
      "schema {}: reference \"{}\": there is no anchor \"{}\"",
      from.path,
      reference,
      parts.fragment
  );
  return {places_.at(anchor->second), parts.fragment};
}

// Walks a JSON pointer; on the way the innermost resource counts.
SchemaPlace SchemaIndex::follow(
    const SchemaPlace& from, SchemaPlace at, const std::string& fragment
) {
  size_t begin = 1;
  for (bool last = false; !last;) {
    const size_t end = fragment.find('/', begin);
    last = end == std::string::npos;
    const std::string raw = fragment.substr(begin, last ? end : end - begin);
    const std::string token = unescape_pointer(raw);
    const Json* next = nullptr;
    if (at.schema->is_object()) {
      const auto it = at.schema->find(token);
      if (it != at.schema->end()) next = &*it;
    } else if (at.schema->is_array() && !token.empty() && token.size() < 10 && token.find_first_not_of("0123456789") == std::string::npos) {
      const size_t index = std::stoul(token);
      if (index < at.schema->size()) next = &(*at.schema)[index];
    }
    require_data(
        next != nullptr,
        "schema {}: reference to \"#{}\": there is no \"{}\" in {}",
        from.path,
        fragment,
        token,
        at.path.empty() ? "the schema" : at.path
    );
    at.schema = next;
    at.path += "/" + raw;
    if (const auto known = places_.find(next); known != places_.end()) at = known->second;
    begin = end + 1;
  }
  // A place that no keyword leads to ("components" and the like) is walked now.
  walk(*at.schema, at.resource, at.path);
  return places_.at(at.schema);
}

}  // namespace hone
