// What a JsonSchema owns.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "core/json/schema.h"
#include "core/json/schema_index.h"
#include "core/json/schema_node.h"

namespace hone {

struct JsonSchema::State {
  explicit State(const SchemaOptions& options) : index(options) {}
  SchemaIndex index;
  std::deque<SchemaNode> nodes;
  const SchemaNode* root = nullptr;
  std::vector<std::string> unsupported;
};

}  // namespace hone
