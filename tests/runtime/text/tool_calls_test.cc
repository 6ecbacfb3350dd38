#include "runtime/text/tool_calls.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hone {
namespace {

// One line per block, for comparison.
std::string describe(const ToolCallBlock& block) {
  std::string out = "[" + block.raw + "]";
  if (!block.call) return out + " error " + block.error;
  return out + " " + block.call->name + " " + block.call->raw_arguments + " " +
         dump_json(block.call->arguments);
}

std::string describe(const ParsedAssistant& parsed) {
  std::string out = "content=" + parsed.content;
  for (const ToolCallBlock& block : parsed.blocks) out += "\n" + describe(block);
  return out;
}

ParsedAssistant collect(std::vector<std::vector<HermesStream::Event>> all) {
  ParsedAssistant parsed;
  for (auto& events : all) {
    for (HermesStream::Event& event : events) {
      parsed.content += event.content;
      if (event.call) parsed.blocks.push_back(std::move(*event.call));
    }
  }
  return parsed;
}

ParsedAssistant stream(const std::vector<std::string>& pieces) {
  HermesStream hermes;
  std::vector<std::vector<HermesStream::Event>> all;
  for (const std::string& piece : pieces) all.push_back(hermes.push(piece));
  all.push_back(hermes.finish());
  return collect(std::move(all));
}

// Texts that models write, well formed and not.
const std::vector<std::string>& texts() {
  static const std::vector<std::string> all = {
      "",
      "Just text.",
      "  spaced \n text \n",
      R"(<tool_call>
{"name": "get_weather", "arguments": {"city": "S\u00e3o Paulo", "days": 3}}
</tool_call>)",
      R"(Let me look. <tool_call>{"name":"a","arguments":{}}</tool_call>
<tool_call>{"name":"b","arguments":{"x":[1,{"y":"}"}]}}</tool_call> Done.)",
      R"(<tool_call>{"name": "echo", "arguments": {"text": "say </tool_call> and <tool_call>"}}</tool_call>after)",
      R"(<tool_call>{"name": "echo", "arguments": {"text": "quote \" </tool_call> \\"}}</tool_call>)",
      R"(<tool_call>{"name": "f", "arguments": {"a": "unclosed}}</tool_call> then "text" <tool_call>{"name":"g","arguments":{}}</tool_call>)",
      R"(<tool_call>{"name": "f", "arguments": {"a": 1}}<tool_call>{"name": "g", "arguments": {}}</tool_call>)",
      R"(<tool_call>{"name": "f", "arguments": {"a": 1}})",
      R"(<tool_call>{"name": "f", "arguments": {"a": )",
      R"(text <tool_call)",
      R"(text <tool_call></tool_call> <b> </tool_call>)",
      R"(<tool_call>not json</tool_call>)",
      R"(<tool_call>[1, 2]</tool_call>)",
      R"(<tool_call>{"arguments": {}}</tool_call><tool_call>{"name": 5, "arguments": {}}</tool_call>)",
      R"(<tool_call>{"name": "f"}</tool_call><tool_call>{"name": "f", "arguments": [1]}</tool_call>)",
      R"(<tool_call>{"name": "f", "parameters": {"p": 1.50}}</tool_call>)",
      R"(<tool_call>{"name": "f", "arguments": "{\"a\": 1}"}</tool_call>)",
      R"(<tool_call>{"name": "f", "arguments": "no json"}</tool_call>)",
      R"(<tool_call>{"arguments": {"name": "inner", "arguments": {"z": 0}}, "name": "outer"}</tool_call>)",
      R"(<tool_call>{"name": "f", "arguments": {"a": 1}, "arguments": {"a":  2 }}</tool_call>)",
      "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"line\nbreak\"}}</tool_call>x",
      "a<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"x</tool_call>\n<tool_call>{\"name\": "
      "\"g\", "
      "\"arguments\": {}}</tool_call>b",
      "<<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call></tool_call>",
      "\xC3\xA9 \xF0\x9F\x98\x80 "
      "<tool_call>{\"name\":\"\xC3\xA9\",\"arguments\":{}}</tool_call>\xFF",
      "<tool_call>{\"name\":\"f\",\"arguments\":{}}</"
      "tool_call>\n\n<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>",
      "<tool_call>\"\\",
  };
  return all;
}

TEST(ToolCalls, OneCall) {
  const auto parsed = parse_hermes_tool_calls(texts()[3]);
  EXPECT_EQ(parsed.content, "");
  ASSERT_EQ(parsed.blocks.size(), 1U);
  ASSERT_TRUE(parsed.blocks[0].call);
  EXPECT_EQ(parsed.blocks[0].call->name, "get_weather");
  EXPECT_EQ(parsed.blocks[0].call->raw_arguments, R"({"city": "S\u00e3o Paulo", "days": 3})");
  EXPECT_EQ(parsed.blocks[0].call->arguments["city"], "S\xC3\xA3o Paulo");
  EXPECT_EQ(parsed.blocks[0].call->arguments["days"], 3);
}

TEST(ToolCalls, SeveralCallsWithTextAround) {
  const auto parsed = parse_hermes_tool_calls(texts()[4]);
  EXPECT_EQ(parsed.content, "Let me look. \n Done.");
  ASSERT_EQ(parsed.blocks.size(), 2U);
  EXPECT_EQ(parsed.blocks[0].call->raw_arguments, "{}");
  EXPECT_EQ(parsed.blocks[1].call->raw_arguments, R"({"x":[1,{"y":"}"}]})");
}

TEST(ToolCalls, TagsInsideStringsBelongToTheString) {
  auto parsed = parse_hermes_tool_calls(texts()[5]);
  ASSERT_EQ(parsed.blocks.size(), 1U);
  EXPECT_EQ(parsed.blocks[0].call->arguments["text"], "say </tool_call> and <tool_call>");
  EXPECT_EQ(parsed.content, "after");
  parsed = parse_hermes_tool_calls(texts()[6]);
  ASSERT_EQ(parsed.blocks.size(), 1U);
  EXPECT_EQ(parsed.blocks[0].call->arguments["text"], "quote \" </tool_call> \\");
}

TEST(ToolCalls, AnUnclosedStringDoesNotSwallowTheNextCall) {
  const auto parsed = parse_hermes_tool_calls(texts()[7]);
  ASSERT_EQ(parsed.blocks.size(), 2U);
  EXPECT_FALSE(parsed.blocks[0].call);
  EXPECT_THAT(parsed.blocks[0].error, testing::StartsWith("not JSON"));
  EXPECT_EQ(parsed.blocks[1].call->name, "g");
  EXPECT_EQ(parsed.content, "then \"text\"");
}

TEST(ToolCalls, CutOffBlocks) {
  auto parsed = parse_hermes_tool_calls(texts()[8]);
  ASSERT_EQ(parsed.blocks.size(), 2U);
  EXPECT_EQ(parsed.blocks[0].call->name, "f");
  EXPECT_EQ(parsed.blocks[1].call->name, "g");
  parsed = parse_hermes_tool_calls(texts()[9]);
  ASSERT_EQ(parsed.blocks.size(), 1U);
  EXPECT_EQ(parsed.blocks[0].call->raw_arguments, R"({"a": 1})");
  parsed = parse_hermes_tool_calls(texts()[10]);
  ASSERT_EQ(parsed.blocks.size(), 1U);
  EXPECT_EQ(parsed.blocks[0].error, "unclosed");
  EXPECT_EQ(parsed.blocks[0].raw, R"({"name": "f", "arguments": {"a": )");
  EXPECT_EQ(parse_hermes_tool_calls(texts()[11]).content, "text <tool_call");
}

TEST(ToolCalls, WhatIsNoCallSaysWhy) {
  const auto errors_of = [](const std::string& text) {
    std::vector<std::string> errors;
    for (const auto& block : parse_hermes_tool_calls(text).blocks) errors.push_back(block.error);
    return errors;
  };
  using testing::ElementsAre;
  using testing::StartsWith;
  EXPECT_THAT(errors_of(texts()[13]), ElementsAre(StartsWith("not JSON: ")));
  EXPECT_THAT(errors_of(texts()[14]), ElementsAre("not an object"));
  EXPECT_THAT(errors_of(texts()[15]), ElementsAre("no name", "no name"));
  EXPECT_THAT(errors_of(texts()[16]), ElementsAre("no arguments", "arguments are no object"));
  EXPECT_THAT(errors_of(texts()[19]), ElementsAre("arguments are no JSON"));
  EXPECT_THAT(errors_of(texts()[12]), ElementsAre(StartsWith("not JSON: ")));
}

TEST(ToolCalls, RawArgumentsAreVerbatim) {
  const auto raw = [](const std::string& text) {
    return parse_hermes_tool_calls(text).blocks.at(0).call.value().raw_arguments;
  };
  EXPECT_EQ(raw(texts()[17]), R"({"p": 1.50})");
  EXPECT_EQ(raw(texts()[18]), R"({"a": 1})");
  EXPECT_EQ(raw(texts()[20]), R"({"name": "inner", "arguments": {"z": 0}})");
  EXPECT_EQ(raw(texts()[21]), R"({"a":  2 })");
}

TEST(ToolCalls, ContentIsReleasedAsSoonAsItIsKnown) {
  HermesStream hermes;
  auto events = hermes.push("Hello wor");
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].content, "Hello wor");
  events = hermes.push("ld <tool");
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].content, "ld");
  events = hermes.push("box>");
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].content, " <toolbox>");
  // A call comes out with its closing tag, not at the end of the text.
  events = hermes.push("<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call");
  EXPECT_TRUE(events.empty());
  events = hermes.push(">");
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].call->call->name, "f");
  EXPECT_TRUE(hermes.finish().empty());
}

TEST(ToolCalls, EverySplitGivesTheWholeParse) {
  for (const std::string& text : texts()) {
    SCOPED_TRACE(text);
    const std::string whole = describe(parse_hermes_tool_calls(text));
    for (size_t a = 0; a <= text.size(); ++a) {
      EXPECT_EQ(describe(stream({text.substr(0, a), text.substr(a)})), whole) << "split at " << a;
      for (size_t b = a; b <= text.size(); b += 7) {
        EXPECT_EQ(
            describe(stream({text.substr(0, a), text.substr(a, b - a), text.substr(b)})), whole
        );
      }
    }
    std::vector<std::string> bytes;
    for (const char c : text) bytes.emplace_back(1, c);
    EXPECT_EQ(describe(stream(bytes)), whole);
  }
}

TEST(ToolCalls, RandomTextsInRandomPieces) {
  const std::vector<std::string> parts = {
      "<tool_call>",
      "</tool_call>",
      "{\"name\":\"f\",\"arguments\":{",
      "}}",
      "\"",
      "\\",
      "\"a\":1",
      "\"s\":\"x",
      "text",
      " ",
      "\n",
      "<",
      "<tool_call",
      "</tool",
      ",",
      "{",
      "}",
      "[",
      "\xC3\xA9"};
  std::mt19937 random(7);
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (size_t i = random() % 24; i > 0; --i) text += parts[random() % parts.size()];
    std::vector<std::string> pieces;
    for (size_t at = 0; at < text.size();) {
      const size_t size = 1 + random() % 9;
      pieces.push_back(text.substr(at, size));
      at += size;
    }
    const auto whole = parse_hermes_tool_calls(text);
    EXPECT_EQ(describe(stream(pieces)), describe(whole)) << text;
    // Nothing is lost but the tags and outer white space.
    const bool space_outside =
        !whole.content.empty() && (whole.content.front() == ' ' || whole.content.back() == ' ');
    EXPECT_FALSE(space_outside) << text;
    for (const auto& block : whole.blocks) {
      EXPECT_NE(block.call.has_value(), !block.error.empty());
      EXPECT_NE(text.find(block.raw), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace hone
