#include "eval/metric/tools.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace hone {
namespace {

Json tools() {
  return parse_json(
      R"([{"type": "function", "function": {"name": "order_pizza", "parameters": {"type": "object",
           "properties": {"size": {"type": "string", "enum": ["small", "large"]},
                          "toppings": {"type": "array", "items": {"type": "string"}},
                          "quantity": {"type": "integer"},
                          "where": {"type": "object", "properties": {"street": {"type": "string"}}}},
           "required": ["size"]}}},
         {"type": "function", "function": {"name": "tip", "parameters": {"type": "object",
           "properties": {"bill": {"type": "number"}}, "required": ["bill"]}}}])",
      "test"
  );
}

std::string call(const std::string& body) {
  return "<tool_call>\n" + body + "\n</tool_call>";
}

const std::vector<ExpectedCall>& pizza() {
  static const std::vector<ExpectedCall> calls = {
      {"order_pizza", parse_json(R"({"size": "large", "quantity": 2})", "test")}};
  return calls;
}

ToolScore score(const std::string& output, const std::vector<ExpectedCall>& expected = pizza()) {
  return score_tool_calls(output, OfferedTools(tools(), "test"), expected);
}

void expect_rungs(const ToolScore& s, bool json, bool schema, bool right, bool exact) {
  EXPECT_EQ(s.json_valid, json) << s.cause;
  EXPECT_EQ(s.schema_valid, schema) << s.cause;
  EXPECT_EQ(s.right_tools, right) << s.cause;
  EXPECT_EQ(s.exact, exact) << s.cause;
}

TEST(ToolScore, Exact) {
  const ToolScore s =
      score(call(R"({"name": "order_pizza", "arguments": {"quantity": 2, "size": "large"}})"));
  expect_rungs(s, true, true, true, true);
  EXPECT_TRUE(s.called);
  EXPECT_TRUE(s.decision_right);
  EXPECT_EQ(s.cause, "exact");
}

TEST(ToolScore, TextAroundTheCallDoesNotMatter) {
  const ToolScore s = score(
      "Sure!\n" +
      call(R"({"name": "order_pizza", "arguments": {"size": "large", "quantity": 2.0}})")
  );
  expect_rungs(s, true, true, true, true);
}

TEST(ToolScore, WrongValue) {
  const ToolScore s =
      score(call(R"({"name": "order_pizza", "arguments": {"size": "small", "quantity": 2}})"));
  expect_rungs(s, true, true, true, false);
  EXPECT_EQ(s.cause, "order_pizza: size is \"small\", expected \"large\"");
}

TEST(ToolScore, OptionalArgumentMissingOrTooMany) {
  expect_rungs(
      score(call(R"({"name": "order_pizza", "arguments": {"size": "large"}})")),
      true,
      true,
      true,
      false
  );
  const ToolScore more = score(call(
      R"({"name": "order_pizza", "arguments": {"size": "large", "quantity": 2, "toppings": []}})"
  ));
  expect_rungs(more, true, true, true, false);
  EXPECT_EQ(more.cause, "order_pizza: more arguments than expected");
}

TEST(ToolScore, SchemaFaults) {
  const char* faults[] = {
      R"({"name": "order_pizza", "arguments": {"quantity": 2}})",                     // required
      R"({"name": "order_pizza", "arguments": {"size": "huge"}})",                    // enum
      R"({"name": "order_pizza", "arguments": {"size": "large", "quantity": "2"}})",  // type
      R"({"name": "order_pizza", "arguments": {"size": "large", "quantity": 2.5}})",  // integer
      R"({"name": "order_pizza", "arguments": {"size": "large", "toppings": [1]}})",  // items
      R"({"name": "order_pizza", "arguments": {"size": "large", "crust": "thin"}})",  // unknown key
      R"({"name": "order_pizza", "arguments": {"size": "large", "where": {"town": "x"}}})",  // nested
  };
  for (const char* fault : faults) {
    SCOPED_TRACE(fault);
    expect_rungs(score(call(fault)), true, false, true, false);
  }
}

TEST(ToolScore, ToolThatIsNotOffered) {
  const ToolScore s = score(call(R"({"name": "buy_car", "arguments": {}})"));
  expect_rungs(s, true, false, false, false);
  EXPECT_TRUE(s.unoffered);
  EXPECT_EQ(s.cause, "not offered: buy_car");
}

TEST(ToolScore, OtherOfferedTool) {
  const ToolScore s = score(call(R"({"name": "tip", "arguments": {"bill": 3}})"));
  expect_rungs(s, true, true, false, false);
  EXPECT_FALSE(s.unoffered);
  EXPECT_EQ(s.cause, "called tip, expected order_pizza");
}

TEST(ToolScore, BrokenBlocks) {
  const std::string broken[] = {
      call(R"({"name": "order_pizza", "arguments": {"size": "large")"),
      call("order a pizza"),
      call(R"({"arguments": {"size": "large"}})"),
      call(R"({"name": "order_pizza", "arguments": [1]})"),
      call(R"({"name": 7, "arguments": {}})"),
      call(""),
      R"(<tool_call>
{"name": "order_pizza", "arguments": {"size": "large")",
  };
  for (const std::string& output : broken) {
    SCOPED_TRACE(output);
    const ToolScore s = score(output);
    expect_rungs(s, false, false, false, false);
    EXPECT_TRUE(s.called);
    EXPECT_TRUE(s.decision_right);
    EXPECT_FALSE(s.cause.empty());
  }
}

TEST(ToolScore, OneBrokenBlockSpoilsAll) {
  const ToolScore s = score(
      call(R"({"name": "order_pizza", "arguments": {"size": "large", "quantity": 2}})") + "\n" +
      call("{broken")
  );
  expect_rungs(s, false, false, false, false);
}

TEST(ToolScore, DuplicateCall) {
  const std::string one =
      call(R"({"name": "order_pizza", "arguments": {"size": "large", "quantity": 2}})");
  const ToolScore s = score(one + "\n" + one);
  expect_rungs(s, true, true, false, false);
  EXPECT_EQ(s.cause, "2 calls, expected 1");
}

TEST(ToolScore, OrderOfCallsMatters) {
  const std::vector<ExpectedCall> expected = {
      {"tip", Json{{"bill", 5}}}, {"order_pizza", Json{{"size", "large"}}}};
  const std::string tip = call(R"({"name": "tip", "arguments": {"bill": 5}})");
  const std::string order = call(R"({"name": "order_pizza", "arguments": {"size": "large"}})");
  expect_rungs(score(tip + "\n" + order, expected), true, true, true, true);
  expect_rungs(score(order + "\n" + tip, expected), true, true, false, false);
  expect_rungs(score(tip, expected), true, true, false, false);
}

TEST(ToolScore, NoCallWhereOneIsRight) {
  const ToolScore s = score("I cannot order pizza.");
  expect_rungs(s, false, false, false, false);
  EXPECT_FALSE(s.called);
  EXPECT_FALSE(s.decision_right);
  EXPECT_EQ(s.cause, "no call");
}

TEST(ToolScore, NoCallIsRight) {
  const ToolScore quiet = score("Hello!", {});
  EXPECT_FALSE(quiet.called);
  EXPECT_TRUE(quiet.decision_right);
  const ToolScore loud = score(call(R"({"name": "tip", "arguments": {"bill": 5}})"), {});
  EXPECT_TRUE(loud.called);
  EXPECT_FALSE(loud.decision_right);
  EXPECT_FALSE(loud.json_valid);
  EXPECT_EQ(loud.cause, "called tip where no call is right");
}

TEST(ToolScore, InventedResult) {
  const ToolScore s = score(
      call(R"({"name": "order_pizza", "arguments": {"size": "large", "quantity": 2}})") +
      "\n<tool_response>{\"ok\": true}</tool_response>"
  );
  EXPECT_TRUE(s.invented_result);
  EXPECT_TRUE(s.exact);
}

TEST(RefuseUnknownKeys, ClosesOnlyWhatSaysNothing) {
  const Json closed = refuse_unknown_keys(parse_json(
      R"({"type": "object", "properties": {"a": {"type": "object", "additionalProperties": true,
          "properties": {}}, "properties": {"type": "string"}},
          "default": {"properties": {}}, "anyOf": [{"properties": {"b": {}}}, {"type": "null"}]})",
      "test"
  ));
  EXPECT_EQ(closed.at("additionalProperties"), false);
  EXPECT_EQ(closed.at("properties").at("a").at("additionalProperties"), true);
  EXPECT_FALSE(closed.at("properties").contains("additionalProperties"));
  EXPECT_FALSE(closed.at("properties").at("properties").contains("additionalProperties"));
  EXPECT_FALSE(closed.at("default").contains("additionalProperties"));
  EXPECT_EQ(closed.at("anyOf")[0].at("additionalProperties"), false);
  EXPECT_FALSE(closed.at("anyOf")[1].contains("additionalProperties"));
}

TEST(OfferedTools, FaultsAreNamed) {
  const auto message = [](const char* text) {
    try {
      const OfferedTools offered(parse_json(text, "test"), "item 3 of t.jsonl");
    } catch (const DataError& error) {
      return std::string(error.what());
    }
    return std::string("nothing thrown");
  };
  EXPECT_NE(message(R"({"a": 1})").find("item 3 of t.jsonl"), std::string::npos);
  EXPECT_NE(message(R"([{"function": {}}])").find("name"), std::string::npos);
  EXPECT_NE(
      message(R"([{"function": {"name": "f", "parameters": {"type": 7}}}])").find("tool \"f\""),
      std::string::npos
  );
}

TEST(OfferedTools, ToolsWithoutParametersTakeNone) {
  const OfferedTools offered(parse_json(R"([{"function": {"name": "now"}}])", "test"), "test");
  EXPECT_EQ(offered.violation("now", Json::object()), "");
  EXPECT_NE(offered.violation("now", Json{{"zone", "utc"}}), "");
}

}  // namespace
}  // namespace hone
