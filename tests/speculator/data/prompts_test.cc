#include "speculator/data/prompts.h"

#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/file.h"

namespace hone {
namespace {

using testing::HasSubstr;

const LoadedModel& demo() {
  static const LoadedModel loaded =
      load_model(std::filesystem::path(HONE_SOURCE_DIR) / "recipes/demo");
  return loaded;
}

std::filesystem::path written(const std::string& name, const std::string& text) {
  const auto path = std::filesystem::path(testing::TempDir()) / ("prompts_" + name);
  write_text_file(path, text);
  return path;
}

std::string text_of(const TrainingPrompt& prompt) {
  return demo().tokenizer->decode(prompt.ids, false);
}

TEST(Prompts, AreRenderedAsTheTargetIsPrompted) {
  const PromptSet set = read_prompts(
      written(
          "plain",
          R"({"messages": [{"role": "user", "content": "Hi there"}], "tools": []})"
          "\n\n"
          R"({"question": "2 + 2?", "answer": "4"})"
      ),
      demo(),
      {}
  );
  ASSERT_EQ(set.prompts.size(), 2U);
  EXPECT_EQ(
      text_of(set.prompts[0]), "<|im_start|>user\nHi there<|im_end|>\n<|im_start|>assistant\n"
  );
  EXPECT_EQ(text_of(set.prompts[1]), "<|im_start|>user\n2 + 2?<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(set.prompts[1].index, 1);
  EXPECT_NE(set.prompts[0].conversation, set.prompts[1].conversation);
}

TEST(Prompts, EveryAssistantTurnIsOne) {
  const PromptSet set = read_prompts(
      written(
          "turns",
          R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"},)"
          R"({"role": "user", "content": "c"}, {"role": "assistant", "content": "d"}]})"
      ),
      demo(),
      {}
  );
  ASSERT_EQ(set.prompts.size(), 2U);
  EXPECT_THAT(text_of(set.prompts[0]), testing::Not(HasSubstr("b<")));
  EXPECT_THAT(text_of(set.prompts[1]), HasSubstr("assistant\nb<|im_end|>"));
  EXPECT_THAT(text_of(set.prompts[1]), testing::Not(HasSubstr("d<")));
  // Never divided by the split.
  EXPECT_EQ(set.prompts[0].conversation, set.prompts[1].conversation);
  EXPECT_EQ(set.conversations, 1);
}

TEST(Prompts, RepeatedAndLongOnesAreLeftOut) {
  const std::string line = R"({"messages": [{"role": "user", "content": "same"}]})";
  const std::string with_answer =
      R"({"messages": [{"role": "user", "content": "same"}, {"role": "assistant", "content": "x"}]})";
  const std::string longer =
      R"({"messages": [{"role": "user", "content": ")" + std::string(2000, 'x') + R"("}]})";
  const PromptSet set = read_prompts(
      written("repeated", line + "\n" + with_answer + "\n" + longer + "\n"),
      demo(),
      {.max_length = 300}
  );
  EXPECT_EQ(set.prompts.size(), 1U);
  EXPECT_EQ(set.duplicates, 1);
  EXPECT_EQ(set.too_long, 1);
}

TEST(Prompts, LimitCountsPrompts) {
  const auto traces = std::filesystem::path(HONE_SOURCE_DIR) / "recipes/demo/traces.jsonl";
  const PromptSet set = read_prompts(traces, demo(), {.limit = 25});
  EXPECT_EQ(set.prompts.size(), 25U);
  for (const TrainingPrompt& prompt : set.prompts) {
    EXPECT_THAT(text_of(prompt), testing::EndsWith("<|im_start|>assistant\n"));
  }
}

TEST(Prompts, BrokenLinesAreNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {"not json", "line 1"},
      {"[1]", "expected an object"},
      {R"({"text": "x"})", "\"messages\""},
      {R"({"messages": []})", "messages"},
      {R"({"messages": "x"})", "messages"},
      {R"({"messages": [3]})", "expected an object"},
      {R"({"messages": [{"content": "x"}]})", "role"},
      {R"({"messages": [{"role": "assistant", "content": "x"}]})", "no message that an assistant"},
      {R"({"question": 3})", "question"},
  };
  for (const auto& [text, reason] : cases) {
    try {
      read_prompts(written("broken", text), demo(), {});
      ADD_FAILURE() << text;
    } catch (const DataError& error) {
      EXPECT_THAT(error.what(), HasSubstr(reason)) << text;
      EXPECT_THAT(error.what(), HasSubstr("prompts_broken")) << text;
    }
  }
  EXPECT_THROW(read_prompts("/nowhere/at/all.jsonl", demo(), {}), DataError);
  EXPECT_THROW(read_prompts(written("empty", "\n"), demo(), {}), UsageError);
}

}  // namespace
}  // namespace hone
