#include "runtime/engine/stop_strings.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/rng.h"

namespace hone {
namespace {

TEST(StopStrings, HoldsBackWhatMayBecomeAStop) {
  StopStrings stops({"</s>", "END"});
  EXPECT_EQ(stops.push("ab<"), "ab");
  EXPECT_EQ(stops.push("/"), "");
  EXPECT_EQ(stops.push("x"), "</x");
  EXPECT_EQ(stops.push("E"), "");
  EXPECT_EQ(stops.push("EN"), "E");
  EXPECT_FALSE(stops.matched());
  EXPECT_EQ(stops.push("D after"), "");
  EXPECT_TRUE(stops.matched());
  EXPECT_EQ(stops.push("more"), "");
  EXPECT_EQ(stops.finish(), "");
}

TEST(StopStrings, FirstCompleteMatchWins) {
  StopStrings stops({"ello world", "lo w"});
  EXPECT_EQ(stops.push("hello world"), "hel");
  EXPECT_TRUE(stops.matched());
}

TEST(StopStrings, FinishGivesWhatWasHeld) {
  StopStrings stops({"abc"});
  EXPECT_EQ(stops.push("xab"), "x");
  EXPECT_EQ(stops.finish(), "ab");
  StopStrings none({});
  EXPECT_EQ(none.push("all"), "all");
  EXPECT_EQ(none.finish(), "");
  EXPECT_THROW(StopStrings({"a", ""}), UsageError);
}

// Cut anywhere, the shown text is the text before the first match.
TEST(StopStrings, AnyCutting) {
  Rng rng(3);
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (uint64_t i = rng.below(14); i > 0; --i) text += static_cast<char>('a' + rng.below(2));
    std::vector<std::string> list;
    for (uint64_t i = 1 + rng.below(2); i > 0; --i) {
      list.emplace_back();
      for (uint64_t k = 1 + rng.below(4); k > 0; --k)
        list.back() += static_cast<char>('a' + rng.below(2));
    }
    // The shortest beginning of the text that ends with a stop string, without the longest such.
    size_t first = std::string::npos;
    for (size_t end = 0; end <= text.size() && first == std::string::npos; ++end) {
      for (const std::string& stop : list) {
        if (text.substr(0, end).ends_with(stop)) first = std::min(first, end - stop.size());
      }
    }
    StopStrings stops(list);
    std::string shown;
    for (size_t at = 0; at < text.size();) {
      const size_t n = std::min<size_t>(1 + rng.below(4), text.size() - at);
      shown += stops.push(std::string_view(text).substr(at, n));
      ASSERT_TRUE(text.starts_with(shown));
      at += n;
    }
    shown += stops.finish();
    ASSERT_EQ(shown, text.substr(0, first)) << text << " " << list[0];
    ASSERT_EQ(stops.matched(), first != std::string::npos);
  }
}

}  // namespace
}  // namespace hone
