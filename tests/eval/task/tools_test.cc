#include "eval/task/tools.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/eval/task/demo.h"

namespace hone {
namespace {

std::filesystem::path tools_path() {
  return demo_path() / "eval_tools.jsonl";
}

const PairedMetric& metric(const TaskResult& task, const std::string& key) {
  for (const PairedMetric& m : task.metrics)
    if (m.key == key) return m;
  throw UsageError("no metric " + key);
}

// recipes/demo/MODEL_CARD.md: 96.8, 67.7, 64.1 and 40.6 % of 251 items; 20 of 49 without a call.
TEST(Tools, RatesOfTheModelCard) {
  const auto items = read_tool_items(tools_path(), 0);
  const auto answers = recorded_answers("tools");
  const TaskResult task = score_tools(items, answers, answers);
  EXPECT_EQ(metric(task, "json_valid").counts, (PairedCounts{243, 0, 0, 8}));
  EXPECT_EQ(metric(task, "schema_valid").counts, (PairedCounts{170, 0, 0, 81}));
  EXPECT_EQ(metric(task, "right_tools").counts, (PairedCounts{161, 0, 0, 90}));
  EXPECT_EQ(metric(task, "exact").counts, (PairedCounts{102, 0, 0, 149}));
  EXPECT_EQ(metric(task, "no_call").counts, (PairedCounts{20, 0, 0, 29}));
  EXPECT_EQ(metric(task, "decision").counts.n(), 300);
}

TEST(Tools, TheModelStillGivesTheRecordedAnswers) {
  const auto recorded = recorded_answers("tools");
  ToolsOptions options;
  options.data = tools_path();
  options.limit = 6;
  options.max_tokens = 256;
  const TaskResult task = run_tools({demo_model(), demo_model()}, options);
  EXPECT_EQ(task.invalid, "");
  ASSERT_EQ(task.samples.size(), 6U);
  for (size_t i = 0; i < task.samples.size(); ++i)
    EXPECT_EQ(task.samples[i].at("reference").at("text"), recorded[i].text);
}

TEST(Tools, FlipsBothWays) {
  auto items = read_tool_items(tools_path(), 3);  // no call, one call, two calls
  ASSERT_TRUE(items[0].expected.empty());
  ASSERT_EQ(items[1].expected.size(), 1U);
  Answer right;
  right.text =
      "<tool_call>\n" +
      dump_json({{"name", items[1].expected[0].name}, {"arguments", items[1].expected[0].arguments}}
      ) +
      "\n</tool_call>";
  Answer quiet;
  quiet.text = "Sorry.";
  const TaskResult task = score_tools(items, {right, right, quiet}, {quiet, quiet, right});
  EXPECT_EQ(metric(task, "exact").lost, (std::vector<int64_t>{1}));
  EXPECT_TRUE(metric(task, "exact").gained.empty());
  EXPECT_EQ(metric(task, "json_valid").gained, (std::vector<int64_t>{2}));
  EXPECT_EQ(metric(task, "no_call").gained, (std::vector<int64_t>{0}));
  EXPECT_EQ(metric(task, "decision").gained, (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(metric(task, "decision").lost, (std::vector<int64_t>{1}));
}

TEST(Tools, BrokenDataIsNamed) {
  const auto message = [](const std::string& line, const char* suffix) {
    try {
      (void)read_tool_items(write_lines({line}, suffix), 0);
    } catch (const DataError& error) {
      return std::string(error.what());
    }
    return std::string("nothing thrown");
  };
  EXPECT_NE(
      message(R"({"messages": [], "tools": []})", "a").find("\"expected\""), std::string::npos
  );
  EXPECT_NE(
      message(R"({"messages": 1, "tools": [], "expected": []})", "b").find("\"messages\""),
      std::string::npos
  );
  EXPECT_NE(
      message(R"({"messages": [], "tools": [], "expected": [{"name": "f"}]})", "c")
          .find("arguments"),
      std::string::npos
  );
  EXPECT_NE(message("[1]", "d").find("item 0"), std::string::npos);
}

}  // namespace
}  // namespace hone
