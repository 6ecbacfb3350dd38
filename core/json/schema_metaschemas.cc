#include "core/json/schema_metaschemas.h"

#include <map>

#include "core/json/schema_uri.h"

namespace hone {
namespace {

// One document a line, from metaschemas.json.
constexpr char kText[] =
#include "core/json/metaschemas.inc"
    ;

const std::map<std::string, Json>& documents() {
  static const auto all = [] {
    std::map<std::string, Json> by_uri;
    std::string_view text = kText;
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      if (end > 0) {
        Json document = parse_json(text.substr(0, end), "built-in metaschema");
        const auto id = document.contains("$id") ? document.at("$id") : document.at("id");
        by_uri.emplace(split_fragment(id.get<std::string>()).uri, std::move(document));
      }
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return by_uri;
  }();
  return all;
}

}  // namespace

std::optional<SchemaDraft> metaschema_draft(const std::string& uri) {
  std::string_view name = uri;
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (name.starts_with(scheme)) name.remove_prefix(scheme.size());
  }
  if (name == "json-schema.org/draft/2020-12/schema") return SchemaDraft::k2020;
  if (name == "json-schema.org/draft/2019-09/schema") return SchemaDraft::k2019;
  if (name == "json-schema.org/draft-07/schema") return SchemaDraft::k7;
  if (name == "json-schema.org/draft-06/schema") return SchemaDraft::k6;
  if (name == "json-schema.org/draft-04/schema") return SchemaDraft::k4;
  // "The latest" of old documents: the last draft that was published under such names.
  if (name == "json-schema.org/schema") return SchemaDraft::k2020;
  return std::nullopt;
}

const Json* find_metaschema(const std::string& uri) {
  const auto it = documents().find(uri);
  return it == documents().end() ? nullptr : &it->second;
}

}  // namespace hone
