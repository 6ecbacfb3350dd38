#include "runtime/text/regex/regex.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace hone {
namespace {

TEST(Regex, FindsFromAPositionWithLookbehind) {
  const Regex regex = Regex::compile("(?<=a)b", "test");
  RegexScratch scratch;
  Regex::Match match{};
  ASSERT_TRUE(regex.find("abcab", 1, scratch, match));
  EXPECT_EQ(match.begin, 1U);
  ASSERT_TRUE(regex.find("abcab", 2, scratch, match));
  EXPECT_EQ(match.begin, 4U);
  EXPECT_EQ(match.end, 5U);
  EXPECT_FALSE(regex.find("abcab", 5, scratch, match));
}

TEST(Regex, LongSubjectsNeedNoDeepStack) {
  RegexScratch scratch;
  Regex::Match match{};
  const std::string text(3'000'000, 'x');
  const Regex run = Regex::compile("[^\\r\\n\\p{L}\\p{N}]?\\p{L}+", "test");
  ASSERT_TRUE(run.find(text, 0, scratch, match));
  EXPECT_EQ(match.end, text.size());
  // A group that captures in a loop keeps state per round: beyond the JIT's stack the interpreter
  // takes over, or the match gives up with an error, but never with a crash.
  const Regex groups = Regex::compile("(?:(x)|(y))*z", "test");
  try {
    EXPECT_FALSE(groups.find(text, 2'900'000, scratch, match));
  } catch (const DataError&) {
  }
}

TEST(Regex, RunawayPatternsGiveUp) {
  const Regex regex = Regex::compile("(a+)+$", "test");
  RegexScratch scratch;
  Regex::Match match{};
  EXPECT_THROW(regex.find(std::string(60, 'a') + "b", 0, scratch, match), DataError);
}

}  // namespace
}  // namespace hone
