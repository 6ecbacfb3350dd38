#include "runtime/text/conversation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"

namespace hone {
namespace {

Json normalized(const char* text) {
  return normalize_messages(parse_json(text, "test"));
}

TEST(Conversation, PartsBecomeText) {
  const Json out = normalized(R"([{"role": "user", "content": [
      {"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, {"role": "user", "content": []}])"
  );
  EXPECT_EQ(out[0]["content"], "a\nb");
  EXPECT_EQ(out[1]["content"], "");
}

TEST(Conversation, MissingContentIsEmpty) {
  const Json out = normalized(R"([{"role": "assistant", "content": null}, {"role": "assistant"}])");
  EXPECT_EQ(out[0]["content"], "");
  EXPECT_EQ(out[1]["content"], "");
}

TEST(Conversation, ArgumentsBecomeObjects) {
  const Json out = normalized(R"([{"role": "assistant", "content": "", "tool_calls": [
      {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{\"b\": 1, \"a\": [2]}"}},
      {"function": {"name": "g", "arguments": "not json"}},
      {"function": {"name": "h", "arguments": "[1]"}},
      {"name": "i", "arguments": "{}"},
      {"function": {"name": "j", "arguments": {"x": 1}}}]}])");
  const Json& calls = out[0]["tool_calls"];
  EXPECT_EQ(dump_json(calls[0]["function"]["arguments"]), R"({"b":1,"a":[2]})");
  EXPECT_EQ(calls[1]["function"]["arguments"], "not json");
  EXPECT_EQ(calls[2]["function"]["arguments"], "[1]");
  EXPECT_EQ(calls[3]["arguments"], Json::object());
  EXPECT_EQ(calls[4]["function"]["arguments"]["x"], 1);
}

TEST(Conversation, OtherFieldsStay) {
  const Json out = normalized(
      R"([{"role": "tool", "tool_call_id": "1", "content": "x", "extra": [1]}, {"role": "assistant", "content": "y", "tool_calls": null}])"
  );
  EXPECT_EQ(out[0]["extra"][0], 1);
  EXPECT_EQ(out[0]["tool_call_id"], "1");
  EXPECT_FALSE(out[1].contains("tool_calls"));
}

TEST(Conversation, WhatIsNoTextIsNamed) {
  const auto error_of = [](const char* text) -> std::string {
    try {
      normalized(text);
    } catch (const DataError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(
      error_of(R"([{"content": "x"}, {"content": [{"type": "image_url", "image_url": {}}]}])"),
      testing::AllOf(testing::HasSubstr("messages[1]"), testing::HasSubstr("image_url"))
  );
  EXPECT_THAT(error_of(R"([5])"), testing::HasSubstr("messages[0]"));
  EXPECT_THAT(error_of(R"([{"content": 5}])"), testing::HasSubstr("messages[0].content"));
  EXPECT_THAT(error_of(R"([{"content": [{"type": 5}]}])"), testing::HasSubstr("found 5"));
  EXPECT_THAT(error_of(R"({"role": "user"})"), testing::HasSubstr("must be a list"));
}

}  // namespace
}  // namespace hone
