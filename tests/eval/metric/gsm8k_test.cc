#include "eval/metric/gsm8k.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace hone {
namespace {

// What lm-evaluation-harness's two filters extract (Python's re, run over these texts).
struct Extraction {
  const char* text;
  const char* strict;  // nullptr: no match
  const char* flexible;
};

TEST(Extract, AsLmEval) {
  const Extraction table[] = {
      {"so\n#### 18", "18", "18"},
      {"#### 18.", "18.", "18."},
      {"#### 1,800", "1,800", "1,800"},
      {"#### -5", "-5", "-5"},
      {"#### 18 dollars", "18", "18"},
      {"#### $18", nullptr, "$18"},
      {"####18", nullptr, "18"},
      {"so $18.50", nullptr, "$18.50"},
      {"\\boxed{18}", nullptr, "18"},
      {"\\boxed{1{,}800}", nullptr, "800"},
      {"18/20", nullptr, "20"},
      {"10-18", nullptr, "-18"},
      {"18.\nCheck: 3*6", nullptr, "6"},
      {"18 eggs (9 x 2)", nullptr, "2"},
      {"18...", nullptr, "18..."},
      {"wait... what", nullptr, "..."},
      {"\xE2\x88\x92"
       "18",
       nullptr,
       "18"},
      {"#### 72\nQuestion: 5 apples", "72", "5"},
      {"#### \n#### 7", "7", "7"},
      {"no number", nullptr, nullptr},
      {"", nullptr, nullptr},
      {"####", nullptr, nullptr},
      {"#### -", nullptr, nullptr},
      {"--5", nullptr, "-5"},
  };
  for (const Extraction& row : table) {
    SCOPED_TRACE(row.text);
    const auto strict = extract_strict(row.text);
    const auto flexible = extract_flexible(row.text);
    EXPECT_EQ(strict.value_or("(none)"), row.strict == nullptr ? "(none)" : row.strict);
    EXPECT_EQ(flexible.value_or("(none)"), row.flexible == nullptr ? "(none)" : row.flexible);
  }
}

TEST(Normalize, AsLmEval) {
  EXPECT_EQ(normalize_answer("1,800"), "1800");
  EXPECT_EQ(normalize_answer("$18."), "18");
  EXPECT_EQ(normalize_answer("18.00"), "18.00");
  EXPECT_EQ(normalize_answer("a #### b #### 7"), "7");
  EXPECT_EQ(normalize_answer("18.."), "18.");
  EXPECT_EQ(normalize_answer("ABC"), "abc");
}

TEST(CanonicalNumber, ByValue) {
  EXPECT_EQ(canonical_number("18"), "18");
  EXPECT_EQ(canonical_number("18.00"), "18");
  EXPECT_EQ(canonical_number("1,800.50"), "1800.5");
  EXPECT_EQ(canonical_number("$3.0"), "3");
  EXPECT_EQ(canonical_number("007"), "7");
  EXPECT_EQ(canonical_number(".5"), "0.5");
  EXPECT_EQ(canonical_number("-0"), "0");
  EXPECT_EQ(canonical_number("+4"), "4");
  EXPECT_EQ(
      canonical_number("\xE2\x88\x92"
                       "18"),
      "-18"
  );
  EXPECT_EQ(canonical_number(" 5 "), "5");
  EXPECT_FALSE(canonical_number("").has_value());
  EXPECT_FALSE(canonical_number(".").has_value());
  EXPECT_FALSE(canonical_number("-").has_value());
  EXPECT_FALSE(canonical_number("1.2.3").has_value());
  EXPECT_FALSE(canonical_number("five").has_value());
  EXPECT_FALSE(canonical_number("5 eggs").has_value());
}

TEST(FinalAnswer, PrefersTheMarkThenTheBoxThenTheLastNumber) {
  EXPECT_EQ(final_answer("3*6 = 18\n#### 18\nQuestion: 5", false), "18");
  EXPECT_EQ(final_answer("#### $18", false), "18");
  EXPECT_EQ(final_answer("####18.", false), "18");
  EXPECT_EQ(final_answer("#### -1,800.0 dollars", false), "-1800");
  EXPECT_EQ(final_answer("#### **18**", false), "18");
  EXPECT_EQ(final_answer("x \\boxed{9} so \\boxed{1{,}800} and 3 more", false), "1800");
  EXPECT_EQ(final_answer("\\boxed{\\$18.50}", false), "18.5");
  EXPECT_EQ(final_answer("\\boxed{x = \\frac{1}{2}", false), "2");
  EXPECT_EQ(final_answer("The answer is 18.", false), "18");
  EXPECT_EQ(final_answer("between 10-18", false), "18");
  EXPECT_EQ(final_answer("it is -18", false), "-18");
  EXPECT_EQ(final_answer("it is -$18", false), "-18");
  EXPECT_EQ(
      final_answer(
          "it is \xE2\x88\x92"
          "18 now",
          false
      ),
      "-18"
  );
  EXPECT_EQ(final_answer("-5", false), "-5");
  EXPECT_EQ(final_answer("18...", false), "18");
  EXPECT_FALSE(final_answer("no idea...", false).has_value());
  EXPECT_FALSE(final_answer("#### none", false).has_value());
}

TEST(FinalAnswer, UnfinishedSolutionsHaveNone) {
  EXPECT_FALSE(final_answer("first 3*6 = 18, then 18+", true).has_value());
  EXPECT_EQ(final_answer("#### 18\nand on and on", true), "18");
}

AnswerScore score(const char* output, OutputState state = {}) {
  return score_answer(output, state, "9*2 = <<9*2=18>>18\n#### 18", "item 0");
}

TEST(ScoreAnswer, Causes) {
  EXPECT_EQ(score("#### 18").cause, AnswerCause::kRight);
  EXPECT_EQ(score("#### 19").cause, AnswerCause::kWrong);
  EXPECT_EQ(score("I do not know").cause, AnswerCause::kNoAnswer);
  EXPECT_EQ(score("18 and 18 and", {.cut = true}).cause, AnswerCause::kTruncated);
  EXPECT_EQ(score(" \n").cause, AnswerCause::kEmpty);
  EXPECT_EQ(score("!!!!", {.failed = true}).cause, AnswerCause::kFailed);
  EXPECT_EQ(score("#### 18 18 18", {.cut = true}).cause, AnswerCause::kRight);
}

TEST(ScoreAnswer, LmEvalColumnsStayLmEvals) {
  const AnswerScore dollars = score("#### $18");
  EXPECT_TRUE(dollars.right);
  EXPECT_FALSE(dollars.strict_right);
  EXPECT_TRUE(dollars.flexible_right);
  const AnswerScore decimals = score("#### 18.00");
  EXPECT_TRUE(decimals.right);
  EXPECT_FALSE(decimals.strict_right);
  EXPECT_FALSE(decimals.flexible_right);
  const AnswerScore more = score("#### 18\nQuestion: 5 apples");
  EXPECT_TRUE(more.strict_right);
  EXPECT_FALSE(more.flexible_right);
}

TEST(ScoreAnswer, ThousandsInTheTarget) {
  const AnswerScore s = score_answer("#### 2125", {}, "x\n#### 2,125", "item 0");
  EXPECT_TRUE(s.right);
  EXPECT_TRUE(s.strict_right);
}

TEST(ScoreAnswer, BrokenTargetsAreNamed) {
  try {
    (void)score_answer("#### 1", {}, "no mark", "item 7 of x.jsonl");
    FAIL();
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("item 7 of x.jsonl"), std::string::npos);
  }
}

}  // namespace
}  // namespace hone
