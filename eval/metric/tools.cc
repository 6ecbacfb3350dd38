#include "eval/metric/tools.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/json/equal.h"

namespace hone {
namespace {

void close_schema(Json& schema) {
  if (schema.is_array()) {
    for (Json& item : schema) close_schema(item);
    return;
  }
  if (!schema.is_object()) return;
  for (auto& [key, value] : schema.items()) {
    // Values here are data, not schemas.
    if (key == "enum" || key == "const" || key == "default" || key == "examples") continue;
    if (key == "properties" && value.is_object()) {
      for (auto& [name, property] : value.items()) close_schema(property);
    } else {
      close_schema(value);
    }
  }
  const auto properties = schema.find("properties");
  if (properties != schema.end() && properties->is_object() &&
      !schema.contains("additionalProperties") && !schema.contains("unevaluatedProperties"))
    schema["additionalProperties"] = false;
}

bool has_invented_result(std::string_view output) {
  return output.find("<tool_response>") != std::string_view::npos;
}

bool right_tools(const std::vector<ToolCall>& calls, const std::vector<ExpectedCall>& expected) {
  return std::equal(
      calls.begin(),
      calls.end(),
      expected.begin(),
      expected.end(),
      [](const ToolCall& call, const ExpectedCall& wanted) { return call.name == wanted.name; }
  );
}

// Empty when every call is offered and valid.
std::string first_violation(
    const std::vector<ToolCall>& calls, const OfferedTools& offered, bool& unoffered
) {
  std::string first;
  for (const ToolCall& call : calls) {
    if (!offered.offers(call.name)) {
      unoffered = true;
      if (first.empty()) first = "not offered: " + call.name;
    } else if (first.empty()) {
      const std::string why = offered.violation(call.name, call.arguments);
      if (!why.empty()) first = call.name + ": " + why;
    }
  }
  return first;
}

std::string describe_mismatch(
    const std::vector<ToolCall>& calls, const std::vector<ExpectedCall>& expected
) {
  if (calls.size() != expected.size())
    return fmt::format("{} calls, expected {}", calls.size(), expected.size());
  for (size_t i = 0; i < calls.size(); ++i) {
    if (calls[i].name != expected[i].name)
      return fmt::format("called {}, expected {}", calls[i].name, expected[i].name);
    if (json_equal(calls[i].arguments, expected[i].arguments)) continue;
    for (const auto& [key, value] : expected[i].arguments.items()) {
      const auto found = calls[i].arguments.find(key);
      if (found == calls[i].arguments.end())
        return fmt::format("{}: no {}, expected {}", calls[i].name, key, dump_json(value));
      if (!json_equal(*found, value))
        return fmt::format(
            "{}: {} is {}, expected {}", calls[i].name, key, dump_json(*found), dump_json(value)
        );
    }
    return calls[i].name + ": more arguments than expected";
  }
  return "exact";
}

}  // namespace

Json refuse_unknown_keys(const Json& schema) {
  Json closed = schema;
  close_schema(closed);
  return closed;
}

OfferedTools::OfferedTools(const Json& tools, const std::string& source) {
  require_data(tools.is_array(), "{}: field \"tools\" is no list", source);
  for (const Json& tool : tools) {
    const auto function = tool.find("function");
    const Json& body = function == tool.end() ? tool : *function;
    require_data(body.is_object(), "{}: a tool is no object", source);
    const std::string name = json_string(body, "name", source);
    const auto parameters = body.find("parameters");
    const Json schema = parameters == body.end()
                            ? Json{{"type", "object"}, {"properties", Json::object()}}
                            : *parameters;
    try {
      tools_.push_back({name, JsonSchema::compile(refuse_unknown_keys(schema))});
    } catch (const DataError& error) {
      throw DataError(fmt::format("{}: parameters of tool \"{}\": {}", source, name, error.what()));
    }
  }
}

bool OfferedTools::offers(std::string_view name) const {
  return std::any_of(tools_.begin(), tools_.end(), [&](const Tool& t) { return t.name == name; });
}

std::string OfferedTools::violation(std::string_view name, const Json& arguments) const {
  const auto tool =
      std::find_if(tools_.begin(), tools_.end(), [&](const Tool& t) { return t.name == name; });
  check(tool != tools_.end(), "tool {} is not offered", name);
  const auto violations = tool->schema.validate(arguments, 1);
  if (violations.empty()) return {};
  const SchemaViolation& first = violations.front();
  return first.instance_path.empty() ? first.message : first.instance_path + " " + first.message;
}

ToolScore score_tool_calls(
    std::string_view output, const OfferedTools& offered, const std::vector<ExpectedCall>& expected
) {
  const ParsedAssistant parsed = parse_hermes_tool_calls(output);
  ToolScore score;
  score.called = !parsed.blocks.empty();
  score.decision_right = score.called == !expected.empty();
  score.invented_result = has_invented_result(output);
  if (!score.called) {
    score.cause = expected.empty() ? "no call, as expected" : "no call";
    return score;
  }
  std::vector<ToolCall> calls;
  for (const ToolCallBlock& block : parsed.blocks) {
    if (!block.call) {
      score.cause = block.error;
      return score;
    }
    calls.push_back(*block.call);
  }
  const std::string violation = first_violation(calls, offered, score.unoffered);
  if (expected.empty()) {
    score.cause = "called " + calls.front().name + " where no call is right";
    return score;
  }
  score.json_valid = true;
  score.schema_valid = violation.empty();
  score.right_tools = right_tools(calls, expected);
  const std::string mismatch = describe_mismatch(calls, expected);
  score.exact = mismatch == "exact";
  score.cause = violation.empty() ? mismatch : violation;
  return score;
}

}  // namespace hone
