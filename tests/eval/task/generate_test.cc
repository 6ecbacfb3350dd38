#include "eval/task/generate.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/eval/task/demo.h"

namespace hone {
namespace {

std::vector<int32_t> prompt(const std::string& text) {
  ChatInput input;
  input.messages = Json::array({{{"role", "user"}, {"content", text}}});
  return demo_model().encode_chat(input);
}

// recipes/demo/golden.json holds 64 greedy ids of each of its prompts, made with PyTorch.
TEST(Generate, AnswersAreGreedy) {
  const Json golden = read_json_file(demo_path() / "golden.json");
  std::vector<std::vector<int32_t>> prompts;
  std::vector<std::vector<int32_t>> expected;
  for (const Json& item : golden.at("items")) {
    prompts.push_back(item.at("prompt_ids").get<std::vector<int32_t>>());
    auto ids = item.at("greedy_ids").get<std::vector<int32_t>>();
    const auto end = std::find_first_of(
        ids.begin(), ids.end(), demo_model().stop_ids.begin(), demo_model().stop_ids.end()
    );
    ids.erase(end, ids.end());
    expected.push_back(std::move(ids));
  }
  const auto answers =
      generate_answers(demo_model(), prompts, {.max_tokens = 64, .max_batch = 5, .label = "test"});
  ASSERT_EQ(answers.size(), expected.size());
  for (size_t i = 0; i < answers.size(); ++i) {
    EXPECT_EQ(answers[i].ids, expected[i]) << i;
    EXPECT_EQ(answers[i].cut(), expected[i].size() == 64) << i;
    EXPECT_EQ(answers[i].stop_id >= 0, expected[i].size() < 64) << i;
  }
}

TEST(Generate, LimitOfOneToken) {
  const auto answers =
      generate_answers(demo_model(), {prompt("Hello")}, {.max_tokens = 1, .label = "test"});
  EXPECT_EQ(answers[0].ids.size(), 1U);
  EXPECT_TRUE(answers[0].cut());
  EXPECT_EQ(answer_json(answers[0]).at("finish"), "length");
  EXPECT_FALSE(answer_json(answers[0]).contains("error"));
  EXPECT_THROW(
      (void)generate_answers(demo_model(), {}, {.max_tokens = 0, .label = ""}), UsageError
  );
}

}  // namespace
}  // namespace hone
