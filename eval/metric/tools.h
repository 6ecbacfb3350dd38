// Scores of tool calls, by the definitions of recipes/demo/MODEL_CARD.md.
//
// Schema validity saturates at 100 % under constrained decoding and says nothing of fidelity then;
// what counts for users is the right call with the right arguments, and no call when none fits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/json.h"
#include "core/json/schema.h"
#include "runtime/text/tool_calls.h"

namespace hone {

// A call that is expected: name and arguments (an object).
struct ExpectedCall {
  std::string name;
  Json arguments;
};

// The tools offered to one item, compiled once.
class OfferedTools {
 public:
  // `tools`: OpenAI list [{"type": "function", "function": {"name", "parameters"}}]. Throws
  // DataError naming `source` and the tool for missing names and broken schemas.
  OfferedTools(const Json& tools, const std::string& source);

  [[nodiscard]] bool offers(std::string_view name) const;
  // Empty: `arguments` satisfy the tool's schema with unknown keys refused; otherwise why not.
  // `name` must be offered.
  [[nodiscard]] std::string violation(std::string_view name, const Json& arguments) const;

 private:
  struct Tool {
    std::string name;
    JsonSchema schema;
  };
  std::vector<Tool> tools_;
};

// The schema with "additionalProperties": false on every object schema that lists properties and
// says nothing about further ones.
Json refuse_unknown_keys(const Json& schema);

// One output's score. exact implies right_tools, which like schema_valid implies json_valid, which
// implies called; these stay false where no call is expected.
struct ToolScore {
  bool called = false;           // at least one <tool_call>
  bool json_valid = false;       // called, and every block holds a name and an object of arguments
  bool schema_valid = false;     // every call names an offered tool and satisfies its schema
  bool right_tools = false;      // json_valid and the list of names equals the expected list
  bool exact = false;            // the list of calls equals the expected list
  bool decision_right = false;   // called exactly when a call is expected
  bool unoffered = false;        // names a tool that is not offered
  bool invented_result = false;  // the model wrote a tool's answer itself
  std::string cause;             // "exact", "no call", "unclosed", "not offered: x", ...
};

ToolScore score_tool_calls(
    std::string_view output, const OfferedTools& offered, const std::vector<ExpectedCall>& expected
);

}  // namespace hone
