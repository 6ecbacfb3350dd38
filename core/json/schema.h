// JSON Schema (2020-12, with the keywords of drafts 7 and 2019-09 that differ in name only).
//
// The compiled model is shared by the validator (tool arguments, BFCL) and later by the grammar
// compiler. Keywords that are not supported are reported, never ignored silently.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/json/json.h"

namespace hone {

// One violated keyword.
struct SchemaViolation {
  std::string instance_path;  // JSON pointer into the instance, "" for the root
  std::string schema_path;    // JSON pointer of the keyword in the schema
  std::string message;        // "expected integer, found string"
};

// An immutable compiled schema; validate() may be called from several threads.
class JsonSchema {
 public:
  // Throws DataError when the document is no schema (wrong keyword types, unresolvable $ref,
  // invalid regular expression). Nothing is fetched: references to other documents resolve only
  // within `known` (URI -> document), which must outlive the call.
  static JsonSchema compile(const Json& schema, const std::map<std::string, Json>& known = {});

  JsonSchema(JsonSchema&&) noexcept;
  JsonSchema& operator=(JsonSchema&&) noexcept;
  ~JsonSchema();

  // Empty: valid. Stops after `limit` violations.
  [[nodiscard]] std::vector<SchemaViolation> validate(const Json& instance, int limit = 16) const;
  [[nodiscard]] bool valid(const Json& instance) const { return validate(instance, 1).empty(); }

  // Keywords met in the schema that the validator does not implement.
  [[nodiscard]] const std::vector<std::string>& unsupported() const;

 private:
  friend class SchemaCompiler;
  friend class SchemaValidator;
  struct Node;
  struct State;
  explicit JsonSchema(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace hone
