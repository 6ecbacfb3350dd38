#include "runtime/text/tool_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/rng.h"

namespace hone {
namespace {

using ::testing::HasSubstr;

TEST(ToolCalls, OneCall) {
  const ParsedAssistant p = parse_hermes_tool_calls(
      "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"b\": 1, \"a\": [2,  3]}}\n</tool_call>"
  );
  EXPECT_EQ(p.content, "");
  ASSERT_EQ(p.blocks.size(), 1U);
  ASSERT_TRUE(p.blocks[0].call.has_value()) << p.blocks[0].error;
  EXPECT_EQ(p.blocks[0].call->name, "f");
  EXPECT_EQ(p.blocks[0].call->arguments, Json({{"b", 1}, {"a", {2, 3}}}));
  EXPECT_EQ(p.blocks[0].call->raw_arguments, "{\"b\": 1, \"a\": [2,  3]}");  // as written
}

TEST(ToolCalls, SeveralCallsAndTextAround) {
  const ParsedAssistant p = parse_hermes_tool_calls(
      "  Let me see.\n<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>\n"
      "<tool_call>{\"name\":\"g\",\"arguments\":{}}</tool_call>\nDone. "
  );
  EXPECT_EQ(p.content, "Let me see.\n\n\nDone.");
  ASSERT_EQ(p.blocks.size(), 2U);
  EXPECT_EQ(p.blocks[0].call->name, "f");
  EXPECT_EQ(p.blocks[1].call->name, "g");
}

TEST(ToolCalls, BracesAndQuotesInStrings) {
  const ParsedAssistant p = parse_hermes_tool_calls(
      R"(<tool_call>{"arguments": {"name": "}{", "t": "say \"hi\" }"}, "name": "f"}</tool_call>)"
  );
  ASSERT_TRUE(p.blocks[0].call.has_value());
  EXPECT_EQ(p.blocks[0].call->raw_arguments, R"({"name": "}{", "t": "say \"hi\" }"})");
  EXPECT_EQ(p.blocks[0].call->arguments.at("t"), "say \"hi\" }");
}

TEST(ToolCalls, ArgumentsAsAStringAndParameters) {
  const ParsedAssistant p =
      parse_hermes_tool_calls(R"(<tool_call>{"name":"f","arguments":"{\"x\":1}"}</tool_call>)"
                              R"(<tool_call>{"name":"g","parameters":{"y":2}}</tool_call>)");
  EXPECT_EQ(p.blocks[0].call->arguments, Json({{"x", 1}}));
  EXPECT_EQ(p.blocks[0].call->raw_arguments, "{\"x\":1}");
  EXPECT_EQ(p.blocks[1].call->arguments, Json({{"y", 2}}));
}

TEST(ToolCalls, BrokenBlocksSayWhy) {
  const auto error = [](const std::string& inside) {
    const ParsedAssistant p = parse_hermes_tool_calls("<tool_call>" + inside + "</tool_call>");
    EXPECT_FALSE(p.blocks.at(0).call.has_value());
    EXPECT_EQ(p.blocks[0].raw, inside);
    return p.blocks[0].error;
  };
  EXPECT_THAT(error("{\"name\": \"f\", \"arguments\": {"), HasSubstr("not JSON"));
  EXPECT_THAT(error(""), HasSubstr("not JSON"));
  EXPECT_EQ(error("[1]"), "not an object");
  EXPECT_EQ(error("{\"arguments\": {}}"), "no name");
  EXPECT_EQ(error("{\"name\": 3, \"arguments\": {}}"), "no name");
  EXPECT_EQ(error("{\"name\": \"f\"}"), "no arguments");
  EXPECT_EQ(error("{\"name\": \"f\", \"arguments\": [1]}"), "arguments are no object");
  EXPECT_EQ(error("{\"name\": \"f\", \"arguments\": \"x\"}"), "arguments are no JSON");
}

TEST(ToolCalls, UnclosedBlock) {
  const ParsedAssistant p = parse_hermes_tool_calls("a<tool_call>{\"name\":\"f\"");
  EXPECT_EQ(p.content, "a");
  ASSERT_EQ(p.blocks.size(), 1U);
  EXPECT_EQ(p.blocks[0].error, "unclosed");
  EXPECT_EQ(p.blocks[0].raw, "{\"name\":\"f\"");
}

TEST(ToolCalls, AnySplitOfTheStreamEqualsTheWhole) {
  const std::string text =
      " Hi <tool_cal <tool_call>{\"name\":\"f\",\"arguments\":{\"s\":\"</tool\"}}</tool_call>  "
      "<tool_call>broken</tool_call>\n\nand < text <tool_call>{\"name\":\"g\",\"arguments\":{}}";
  const ParsedAssistant whole = parse_hermes_tool_calls(text);
  ASSERT_EQ(whole.blocks.size(), 3U);
  Rng rng(7);
  for (int round = 0; round < 500; ++round) {
    HermesStream stream;
    std::string content;
    std::vector<ToolCallBlock> blocks;
    const auto take = [&](const std::vector<HermesStream::Event>& events) {
      for (const auto& event : events) {
        content += event.content;
        if (event.call) blocks.push_back(*event.call);
      }
    };
    for (size_t at = 0; at < text.size();) {
      const size_t n = round == 0 ? 1 : 1 + rng.below(12);
      take(stream.push(text.substr(at, n)));
      at += n;
    }
    take(stream.finish());
    ASSERT_EQ(content, whole.content);
    ASSERT_EQ(blocks.size(), whole.blocks.size());
    for (size_t i = 0; i < blocks.size(); ++i) {
      EXPECT_EQ(blocks[i].raw, whole.blocks[i].raw);
      EXPECT_EQ(blocks[i].error, whole.blocks[i].error);
      EXPECT_EQ(blocks[i].call.has_value(), whole.blocks[i].call.has_value());
    }
  }
}

TEST(ToolCalls, TextIsReleasedEarly) {
  HermesStream stream;
  const auto events = stream.push("Hello wor");
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].content, "Hello wor");
}

}  // namespace
}  // namespace hone
