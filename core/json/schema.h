// JSON Schema: drafts 2020-12, 2019-09, 7, 6 and 4, chosen by "$schema".
//
// The compiled model (core/json/schema_node.h) is shared by the validator (tool arguments, BFCL)
// and the grammar compiler. Keywords that are not supported are reported, never ignored silently.
// Proved on the official test suite (tests/core/json/schema_validate_test.cc).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/json/json.h"

namespace hone {

struct SchemaNode;

enum class SchemaDraft : uint8_t { k4, k6, k7, k2019, k2020 };

struct SchemaOptions {
  // Of documents that have no "$schema".
  SchemaDraft draft = SchemaDraft::k2020;
  // "format" is an annotation unless this is set, or the schema's metaschema asks for it.
  bool assert_formats = false;
  // What a $ref to another document may name: absolute URI -> document. The metaschemas of all
  // drafts are known. Nothing is ever fetched.
  std::map<std::string, Json> documents;
};

// One violated keyword.
struct SchemaViolation {
  std::string instance_path;  // JSON pointer into the instance, "" for the root
  std::string schema_path;    // JSON pointer of the keyword in the schema
                              // ("/properties/a/type"),
                              // "<uri>#<pointer>" when it stands in another document
  std::string message;        // "expected integer, found string"
};

// An immutable compiled schema; validate() may be called from several threads.
class JsonSchema {
 public:
  // Throws DataError when the document is no schema: wrong keyword types, unresolvable $ref,
  // invalid regular expression, a $ref that leads to itself, a required vocabulary that is not
  // known. The document is copied.
  static JsonSchema compile(const Json& schema, const SchemaOptions& options = {});

  JsonSchema(JsonSchema&&) noexcept;
  JsonSchema& operator=(JsonSchema&&) noexcept;
  ~JsonSchema();

  // Empty: valid. Stops after `limit` violations (at least 1). Throws DataError when references
  // recurse without end on this instance.
  [[nodiscard]] std::vector<SchemaViolation> validate(const Json& instance, int limit = 16) const;
  [[nodiscard]] bool valid(const Json& instance) const;

  // Keywords met in the schema that assert nothing here although their author may think so: unknown
  // ones, and those that the schema's draft does not have ("minContains (not in draft 7)").
  // Annotations (title, description, default, ...) are not among them.
  [[nodiscard]] const std::vector<std::string>& unsupported() const;

  // The compiled model; lives as long as this object.
  [[nodiscard]] const SchemaNode& root() const;

 private:
  friend class SchemaCompiler;
  struct State;
  explicit JsonSchema(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// "draft 7", "draft 2020-12".
std::string schema_draft_name(SchemaDraft draft);

}  // namespace hone
