#include "core/base/cancel.h"

#include <csignal>

#include <gtest/gtest.h>

namespace hone {
namespace {

class CancelTest : public testing::Test {
 protected:
  void TearDown() override {
    reset_cancel();
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGTERM, SIG_DFL);
  }
};

TEST_F(CancelTest, NothingHappensWithoutASignal) {
  install_signal_handlers();
  EXPECT_FALSE(cancelled());
  EXPECT_EQ(cancel_signal(), 0);
  EXPECT_NO_THROW(throw_if_cancelled());
}

TEST_F(CancelTest, SignalsSetTheFlag) {
  for (const int signal : {SIGINT, SIGTERM}) {
    install_signal_handlers();
    std::raise(signal);
    EXPECT_TRUE(cancelled());
    EXPECT_EQ(cancel_signal(), signal);
    EXPECT_THROW(throw_if_cancelled(), Cancelled);
    reset_cancel();
    EXPECT_FALSE(cancelled());
    EXPECT_NO_THROW(throw_if_cancelled());
  }
}

TEST_F(CancelTest, RequestSetsTheFlagWithoutASignal) {
  request_cancel();
  EXPECT_TRUE(cancelled());
  EXPECT_EQ(cancel_signal(), 0);
  EXPECT_THROW(throw_if_cancelled(), Error);
}

TEST_F(CancelTest, TheSecondSignalEndsTheProcess) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        install_signal_handlers();
        std::raise(SIGINT);
        std::raise(SIGINT);
        ::pause();
      },
      testing::KilledBySignal(SIGINT),
      ""
  );
}

}  // namespace
}  // namespace hone
