#include "core/base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/progress.h"

namespace hone {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

TEST(Log, LevelsDecideWhatIsPrinted) {
  set_log_level(LogLevel::kWarning);
  EXPECT_FALSE(log_enabled(LogLevel::kInfo));
  EXPECT_TRUE(log_enabled(LogLevel::kWarning));
  testing::internal::CaptureStderr();
  log_debug("never {}", 1);
  log_info("not {}", 2);
  log_warning("tensor {} is odd", "a{b}");
  log_error("plain");
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_THAT(text, ContainsRegex("[0-9]+:[0-9]+:[0-9]+ .*warning.*: tensor a\\{b\\} is odd\n"));
  EXPECT_THAT(text, ContainsRegex("error.*: plain\n"));
  EXPECT_THAT(text, Not(HasSubstr("never")));
  EXPECT_THAT(text, Not(HasSubstr("not 2")));

  set_log_level(LogLevel::kOff);
  testing::internal::CaptureStderr();
  log_error("silent");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  set_log_level(LogLevel::kInfo);
}

TEST(Log, WipesAProgressBarFirst) {
  set_progress_mode(ProgressMode::kBar);
  testing::internal::CaptureStderr();
  {
    Progress progress("reading", 10, "tensors");
    progress.advance(5);
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(120);
    while (std::chrono::steady_clock::now() < until) {
    }
    progress.advance(1);
    log_info("between");
  }
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_THAT(text, ContainsRegex("reading [^\n]*\r\x1b\\[K[0-9:]+ .*info.*: between\n"));
  set_progress_mode(ProgressMode::kAuto);
}

}  // namespace
}  // namespace hone
