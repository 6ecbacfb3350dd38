#include "core/base/progress.h"

#include <stdexcept>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hone {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

class ProgressTest : public testing::Test {
 protected:
  void TearDown() override { set_progress_mode(ProgressMode::kAuto); }

  template <typename F>
  static std::string printed(ProgressMode mode, F&& body) {
    set_progress_mode(mode);
    testing::internal::CaptureStderr();
    try {
      body();
    } catch (const std::runtime_error&) {
    }
    return testing::internal::GetCapturedStderr();
  }
};

TEST_F(ProgressTest, LinesEndWithTheTotalTime) {
  const std::string text = printed(ProgressMode::kLines, [] {
    Progress progress("calibrate", 300, "tokens");
    progress.advance(100);
    progress.advance(200);
    progress.note("loss 2.31");
    progress.finish();
    progress.finish();
  });
  EXPECT_THAT(
      text, ContainsRegex("^calibrate: 100% 300/300 tokens, .* tokens/s, done in .*, loss 2.31\n$")
  );
}

TEST_F(ProgressTest, BarShowsRateAndEta) {
  const std::string text = printed(ProgressMode::kBar, [] {
    Progress progress("copy", 4 << 20, "B");
    progress.advance(1 << 20);
    std::this_thread::sleep_for(std::chrono::milliseconds(120));
    progress.advance(1 << 20);
    clear_progress_bar();
    progress.advance(2 << 20);
  });
  EXPECT_THAT(text, HasSubstr("copy [##########..........]  50% 2.0 MiB/4.0 MiB, "));
  EXPECT_THAT(text, ContainsRegex("MiB/s, ETA "));
  EXPECT_THAT(text, ContainsRegex("\r\x1b\\[Kcopy 100% 4.0 MiB/4.0 MiB, .*, done in [0-9]+ms\n$"));
}

TEST_F(ProgressTest, BarIsNotRedrawnForEveryStep) {
  const std::string text = printed(ProgressMode::kBar, [] {
    Progress progress("fast", 100000, "items");
    for (int i = 0; i < 100000; ++i) progress.advance();
  });
  // Ten a second: 100,000 steps take far less than ten seconds.
  EXPECT_LT(std::count(text.begin(), text.end(), '\r'), 100);
}

TEST_F(ProgressTest, UnknownTotalHasNoEta) {
  const std::string text = printed(ProgressMode::kBar, [] {
    Progress progress("scan", 0, "files");
    std::this_thread::sleep_for(std::chrono::milliseconds(120));
    progress.advance(3);
  });
  EXPECT_THAT(text, HasSubstr("scan 3 files"));
  EXPECT_THAT(text, Not(HasSubstr("ETA")));
  EXPECT_THAT(text, Not(HasSubstr("%")));
}

TEST_F(ProgressTest, AnExceptionIsNotDone) {
  const std::string text = printed(ProgressMode::kLines, [] {
    Progress progress("train", 10, "steps");
    progress.advance(4);
    throw std::runtime_error("x");
  });
  EXPECT_THAT(text, HasSubstr("train: 40% 4/10 steps"));
  EXPECT_THAT(text, HasSubstr("stopped after"));
  EXPECT_THAT(text, Not(HasSubstr("done")));
}

TEST_F(ProgressTest, SilentPrintsNothing) {
  EXPECT_EQ(printed(ProgressMode::kSilent, [] { Progress("x", 1, "y").advance(); }), "");
}

TEST_F(ProgressTest, AdvanceFromSeveralThreads) {
  const std::string text = printed(ProgressMode::kLines, [] {
    Progress progress("many", 4000, "rows");
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 1000; ++i) progress.advance();
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  EXPECT_THAT(text, HasSubstr("many: 100% 4000/4000 rows"));
}

TEST(Format, Bytes) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(512), "512 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1024), "1.0 KiB");
  EXPECT_EQ(format_bytes(1.5 * 1024 * 1024 * 1024), "1.5 GiB");
  EXPECT_EQ(format_bytes(1024.0 * 1024 - 1), "1.0 MiB");
  EXPECT_EQ(format_bytes(3e12), "2.7 TiB");
}

TEST(Format, Duration) {
  EXPECT_EQ(format_duration(0.85), "850ms");
  EXPECT_EQ(format_duration(0.9999), "1.0s");
  EXPECT_EQ(format_duration(4.24), "4.2s");
  EXPECT_EQ(format_duration(9.97), "10s");
  EXPECT_EQ(format_duration(59.4), "59s");
  EXPECT_EQ(format_duration(59.6), "1m00s");
  EXPECT_EQ(format_duration(65), "1m05s");
  EXPECT_EQ(format_duration(2 * 3600 + 3 * 60 + 20), "2h03m");
  EXPECT_EQ(format_duration(86400 + 7200), "1d02h");
  EXPECT_EQ(format_duration(-1), "?");
  EXPECT_EQ(format_duration(1.0 / 0.0), "?");
}

}  // namespace
}  // namespace hone
