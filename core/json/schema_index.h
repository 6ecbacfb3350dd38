// Finds schema resources ($id) and anchors in documents, and what a reference names.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/json/schema_node.h"

namespace hone {

// Where a subschema stands.
struct SchemaPlace {
  const Json* schema = nullptr;
  SchemaResource* resource = nullptr;
  std::string path;  // as SchemaNode::path
};

// Owns the documents and resources; addresses stay valid while documents are added.
class SchemaIndex {
 public:
  // `options` must outlive the index's use by add_root() and resolve().
  explicit SchemaIndex(const SchemaOptions& options) : options_(&options) {}

  // The document to compile.
  SchemaPlace add_root(Json document);

  // What `reference`, met in `from`, names. Documents of the options and metaschemas are added when
  // they are first named. Throws DataError when nothing has that name.
  struct Target {
    SchemaPlace place;
    std::string anchor;  // the plain name that led there, if any
  };
  Target resolve(const SchemaPlace& from, const std::string& reference);

  // A subschema met while walking a document.
  [[nodiscard]] const SchemaPlace& place_of(const Json& schema) const;

  std::deque<SchemaResource>& resources() { return resources_; }
  // "$schema" URIs that name neither a draft nor a given document; the default draft was taken.
  [[nodiscard]] const std::vector<std::string>& unknown_metaschemas() const {
    return unknown_metaschemas_;
  }
  // Ends the use of the options.
  void release_options() { options_ = nullptr; }

 private:
  SchemaPlace add_document(const std::string& uri, Json document, const std::string& prefix);
  void walk(const Json& schema, SchemaResource* resource, const std::string& path);
  void walk_children(const Json& schema, SchemaResource* resource, const std::string& path);
  SchemaResource* enter(const Json& schema, SchemaResource* outer);
  void add_anchor(SchemaResource& resource, const std::string& name, const Json& schema);
  void choose_draft(SchemaResource& resource, const Json& schema);
  const Json* find_document(const std::string& uri) const;
  SchemaPlace follow(const SchemaPlace& from, SchemaPlace at, const std::string& fragment);

  const SchemaOptions* options_;
  std::deque<Json> documents_;
  std::deque<SchemaResource> resources_;
  std::unordered_map<std::string, SchemaResource*> by_uri_;
  std::unordered_map<const Json*, SchemaPlace> places_;
  std::vector<std::string> unknown_metaschemas_;
};

}  // namespace hone
