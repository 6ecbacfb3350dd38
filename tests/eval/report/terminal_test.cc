#include "eval/report/terminal.h"

#include <filesystem>
#include <sstream>

#include <gtest/gtest.h>

#include "core/base/file.h"
#include "tests/eval/report/sample_evaluation.h"

namespace hone {
namespace {

TEST(ReportText, Golden) {
  const auto golden = std::filesystem::path(HONE_SOURCE_DIR) / "tests/golden/eval/report.txt";
  const auto produced = std::filesystem::path(testing::TempDir()) / "hone_report.txt";
  const std::string text = report_text(sample_evaluation());
  write_text_file(produced, text);
  EXPECT_EQ(text, read_text_file(golden))
      << "when the change is meant: cp " << produced << " " << golden;
}

TEST(ReportText, FitsATerminal) {
  std::istringstream lines(report_text(sample_evaluation()));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 110U) << line;
}

TEST(ReportText, SaysTooFewTokens) {
  EXPECT_NE(
      report_text(sample_evaluation()).find("too few tokens (needs 100000)"), std::string::npos
  );
}

TEST(ReportText, InvalidComparisonsShowTheReason) {
  Evaluation evaluation = sample_evaluation();
  TaskResult broken;
  broken.key = "tools";
  broken.invalid = "the prompts differ, item 3";
  evaluation.tasks = {broken};
  judge(evaluation);
  const std::string text = report_text(evaluation);
  EXPECT_EQ(text.rfind("Invalid: tiny-nvfp4 and tiny", 0), 0U);
  EXPECT_NE(text.find("the prompts differ, item 3"), std::string::npos);
}

TEST(Format, Figures) {
  EXPECT_EQ(format_rate(246, 300), "246/300  82.0 %");
  EXPECT_EQ(format_rate(0, 0), "-");
  EXPECT_EQ(format_interval_points({-0.029, 0.0061}), "-2.9 .. +0.6");
  EXPECT_EQ(format_kl(0), "0");
  EXPECT_EQ(format_kl(0.01234), "0.0123");
  EXPECT_EQ(format_kl(0.0000123), "1.2e-05");
  EXPECT_EQ(format_kl(HUGE_VAL), "infinite");
}

}  // namespace
}  // namespace hone
