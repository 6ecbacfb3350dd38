#include "eval/report/json.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "tests/eval/report/sample_evaluation.h"

namespace hone {
namespace {

// The same structure, numbers up to the last digits of the C library's exp and pow.
void expect_alike(const Json& actual, const Json& expected, const std::string& path) {
  if (expected.is_number()) {  // signed and unsigned are different types to the library
    ASSERT_TRUE(actual.is_number()) << path;
    EXPECT_NEAR(actual.get<double>(), expected.get<double>(), 1e-12) << path;
    return;
  }
  ASSERT_EQ(actual.type(), expected.type()) << path;
  if (!expected.is_structured()) {
    EXPECT_EQ(actual, expected) << path;
    return;
  }
  ASSERT_EQ(actual.size(), expected.size()) << path;
  auto a = actual.items().begin();
  for (const auto& [key, value] : expected.items()) {
    EXPECT_EQ(a.key(), key) << path;
    expect_alike(a.value(), value, path + "/" + key);
    ++a;
  }
}

TEST(ReportJson, Golden) {
  const auto golden = std::filesystem::path(HONE_SOURCE_DIR) / "tests/golden/eval/report.json";
  const auto produced = std::filesystem::path(testing::TempDir()) / "hone_report.json";
  const Json report = report_json(sample_evaluation());
  expect_alike(report, read_json_file(golden), "");
  if (!testing::Test::HasFailure()) return;
  write_json_file(produced, report);
  ADD_FAILURE() << "when the change is meant: cp " << produced << " " << golden;
}

TEST(ReportJson, FiguresAreThoseOfTheEvaluation) {
  const Json report = report_json(sample_evaluation());
  EXPECT_EQ(report.at("schema"), "hone-eval/1");
  EXPECT_EQ(report.at("verdict"), "equivalent");
  EXPECT_EQ(report.at("exit_code"), 0);
  const Json& kl = report.at("tasks")[0].at("distribution");
  EXPECT_EQ(kl.at("tokens"), 1200);
  EXPECT_EQ(kl.at("p99_kl").at("reason"), "too few tokens");
  EXPECT_EQ(kl.at("p99_kl").at("tokens_needed"), 10000);
  EXPECT_TRUE(kl.at("p90_kl").is_number());
  int64_t tokens = 0;
  for (const Json& bin : kl.at("histogram")) tokens += bin.at("tokens").get<int64_t>();
  EXPECT_EQ(tokens, 1200);
  const Json& accuracy = report.at("tasks")[1].at("metrics")[0];
  EXPECT_EQ(accuracy.at("reference").at("right"), 240);
  EXPECT_EQ(accuracy.at("candidate").at("right"), 240);
  EXPECT_EQ(accuracy.at("lost"), Json::array({7}));
  EXPECT_EQ(accuracy.at("gained"), Json::array({10}));
}

TEST(ReportJson, SameEvaluationSameBytes) {
  EXPECT_EQ(report_json(sample_evaluation()).dump(), report_json(sample_evaluation()).dump());
}

TEST(ReportJson, MetricsWithoutItemsHaveNoFigures) {
  Evaluation evaluation = sample_evaluation();
  evaluation.tasks[1].metrics.push_back(
      {.key = "none", .title = "No items", .definition = "", .decides = false}
  );
  const Json metric = report_json(evaluation).at("tasks")[1].at("metrics")[2];
  EXPECT_EQ(metric.at("items"), 0);
  EXPECT_FALSE(metric.contains("difference"));
}

TEST(ReportSummary, KeyFigures) {
  const Json summary = report_summary(sample_evaluation());
  EXPECT_EQ(summary.at("verdict"), "equivalent");
  EXPECT_EQ(summary.at("margin_points"), 5.0);
  EXPECT_EQ(summary.at("tasks").at("gsm8k").at("accuracy").at("reference"), 0.8);
  EXPECT_GT(summary.at("tasks").at("kl").at("mean_kl").get<double>(), 0);
}

}  // namespace
}  // namespace hone
