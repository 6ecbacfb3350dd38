#include "eval/report/write.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/file.h"
#include "eval/report/html.h"
#include "eval/report/json.h"
#include "tests/eval/report/sample_evaluation.h"

namespace hone {
namespace {

std::filesystem::path fresh_folder(const char* name) {
  const auto folder = std::filesystem::path(testing::TempDir()) / name;
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

TEST(WriteReport, WritesThreeFiles) {
  const auto folder = fresh_folder("hone_eval_write");
  const Evaluation evaluation = sample_evaluation();
  write_report(evaluation, folder);
  EXPECT_EQ(read_json_file(folder / "report.json"), report_json(evaluation));
  EXPECT_EQ(read_text_file(folder / "report.html"), report_html(evaluation));
  const std::vector<Json> samples = read_jsonl_file(folder / "samples.jsonl");
  ASSERT_EQ(samples.size(), 2U);
  EXPECT_EQ(samples[0].at("prompt"), kHostileText);
  EXPECT_EQ(samples[1].at("item"), 10);
}

TEST(WriteReport, SaysWhereItCannotWrite) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "hone_eval_none" / "deeper";
  try {
    write_report(sample_evaluation(), folder);
    FAIL();
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("report.json"), std::string::npos);
  }
}

}  // namespace
}  // namespace hone
