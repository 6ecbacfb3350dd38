#include "runtime/text/conversation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"

namespace hone {
namespace {

Json normalized(const char* text) {
  return normalize_messages(parse_json(text, "test"));
}

TEST(Conversation, PartsAreJoined) {
  const Json m = normalized(
      R"([{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}])"
  );
  EXPECT_EQ(m[0].at("content"), "ab");
}

TEST(Conversation, OtherPartsAreRefused) {
  try {
    normalized(R"([{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}}]}])");
    FAIL() << "an image was taken";
  } catch (const DataError& e) {
    EXPECT_THAT(e.what(), ::testing::HasSubstr("messages[0].content"));
    EXPECT_THAT(e.what(), ::testing::HasSubstr("image_url"));
  }
}

TEST(Conversation, MissingContentIsEmpty) {
  const Json m = normalized(R"([{"role":"assistant","content":null},{"role":"assistant"}])");
  EXPECT_EQ(m[0].at("content"), "");
  EXPECT_EQ(m[1].at("content"), "");
}

TEST(Conversation, ArgumentsBecomeObjects) {
  const Json m = normalized(
      R"([{"role":"assistant","content":"","tool_calls":[
        {"function":{"name":"f","arguments":"{\"x\": 1}"}},
        {"function":{"name":"g","arguments":"not json"}},
        {"name":"h","arguments":{"y":2}}]}])"
  );
  const Json& calls = m[0].at("tool_calls");
  EXPECT_EQ(calls[0].at("function").at("arguments"), Json({{"x", 1}}));
  EXPECT_EQ(calls[1].at("function").at("arguments"), "not json");
  EXPECT_EQ(calls[2].at("arguments"), Json({{"y", 2}}));
}

}  // namespace
}  // namespace hone
