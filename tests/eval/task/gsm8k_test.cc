#include "eval/task/gsm8k.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "eval/metric/policy.h"
#include "tests/eval/task/demo.h"

namespace hone {
namespace {

std::filesystem::path math_path() {
  return demo_path() / "eval_math.jsonl";
}

// recipes/demo/MODEL_CARD.md: 246 of 300.
TEST(Gsm8k, AccuracyOfTheModelCard) {
  const auto items = read_math_items(math_path(), 0);
  const auto answers = recorded_answers("gsm8k");
  const TaskResult task = score_gsm8k(items, answers, answers);
  EXPECT_EQ(task.metrics[0].counts, (PairedCounts{246, 0, 0, 54}));
  EXPECT_EQ(task.samples.size(), 300U);
}

TEST(Gsm8k, TheModelStillGivesTheRecordedAnswers) {
  const auto recorded = recorded_answers("gsm8k");
  Gsm8kOptions options;
  options.data = math_path();
  options.limit = 12;
  options.max_tokens = 256;
  const TaskResult task = run_gsm8k({demo_model(), demo_model()}, options);
  EXPECT_EQ(task.invalid, "");
  EXPECT_EQ(task.data.name, "eval_math.jsonl");
  EXPECT_EQ(task.data.items, 12);
  ASSERT_EQ(task.samples.size(), 12U);
  for (size_t i = 0; i < task.samples.size(); ++i) {
    EXPECT_EQ(task.samples[i].at("reference").at("text"), recorded[i].text);
    EXPECT_EQ(task.samples[i].at("candidate").at("text"), recorded[i].text);
  }
}

Answer answer(const std::string& text, FinishReason finish = FinishReason::kStop) {
  Answer out;
  out.text = text;
  out.finish = finish;
  return out;
}

TEST(Gsm8k, FlipsAndRates) {
  const std::vector<MathItem> items(4, MathItem{"1+1?", "x\n#### 2"});
  const std::vector<Answer> reference = {
      answer("#### 2"), answer("#### 2"), answer("#### 3"), answer("so $2")};
  const std::vector<Answer> candidate = {
      answer("#### 2"),
      answer("2, 2, 2, 2", FinishReason::kLength),
      answer("#### 2"),
      answer("", FinishReason::kError)};
  const TaskResult task = score_gsm8k(items, reference, candidate);
  EXPECT_EQ(task.metrics[0].lost, (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(task.metrics[0].gained, (std::vector<int64_t>{2}));
  const auto rate = [&](const std::string& key) {
    for (const RatePair& r : task.rates)
      if (r.key == key) return std::pair(r.reference, r.candidate);
    return std::pair(int64_t{-1}, int64_t{-1});
  };
  EXPECT_EQ(rate("truncated"), std::pair(int64_t{0}, int64_t{1}));
  EXPECT_EQ(rate("failed"), std::pair(int64_t{0}, int64_t{1}));
  EXPECT_EQ(rate("empty"), std::pair(int64_t{0}, int64_t{1}));
  EXPECT_EQ(rate("no_answer"), std::pair(int64_t{0}, int64_t{2}));
  EXPECT_EQ(rate("extractors_disagree").first, 1);  // "so $2": strict finds nothing
  EXPECT_EQ(task.samples[1].at("candidate").at("score").at("cause"), "truncated");
  EXPECT_EQ(task.samples[3].at("candidate").at("score").at("cause"), "failed");
}

TEST(Gsm8k, TemplatesThatDifferAreNoComparison) {
  LoadedModel other = changed_demo([](const std::filesystem::path& folder) {
    replace_in_file(
        folder / "tokenizer_config.json", "<|im_start|>assistant", "<|im_start|> assistant"
    );
  });
  Gsm8kOptions options;
  options.data = math_path();
  options.limit = 5;
  Evaluation evaluation;
  evaluation.tasks = {run_gsm8k({demo_model(), other}, options)};
  judge(evaluation);
  EXPECT_EQ(evaluation.verdict, Verdict::kInvalid);
  EXPECT_NE(evaluation.tasks[0].reason.find("item 0 of eval_math.jsonl"), std::string::npos);
  EXPECT_NE(evaluation.tasks[0].reason.find("chat template"), std::string::npos);
}

TEST(Gsm8k, InstructionIsPartOfThePrompt) {
  Gsm8kOptions options;
  options.data = math_path();
  options.limit = 1;
  options.max_tokens = 4;
  options.instruction = "Answer with a number only.";
  const TaskResult task = run_gsm8k({demo_model(), demo_model()}, options);
  const auto prompt = task.samples[0].at("prompt").get<std::string>();
  EXPECT_TRUE(prompt.ends_with("?\n\nAnswer with a number only.")) << prompt;
  EXPECT_EQ(task.samples[0].at("reference").at("finish"), "length");
}

TEST(Gsm8k, BrokenDataIsNamed) {
  const auto path =
      write_lines({R"({"question": "a", "answer": "#### 1"})", R"({"question": 7})"}, ".jsonl");
  try {
    (void)read_math_items(path, 0);
    FAIL();
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("item 1 of"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("question"), std::string::npos) << error.what();
  }
  EXPECT_THROW((void)read_math_items(write_lines({}, "_empty.jsonl"), 0), DataError);
  EXPECT_EQ(read_math_items(path, 1).size(), 1U);
}

}  // namespace
}  // namespace hone
