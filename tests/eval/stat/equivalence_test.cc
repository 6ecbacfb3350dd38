#include "eval/stat/equivalence.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/eval/stat/golden.h"

namespace hone {
namespace {

Verdict verdict_of(const PairedCounts& counts, double margin = 0.05) {
  return decide(counts, margin, mcnemar(counts).exact).verdict;
}

TEST(Decide, FewFlipsAreEquivalent) {
  EXPECT_EQ(verdict_of({240, 6, 5, 49}), Verdict::kEquivalent);
  EXPECT_EQ(verdict_of({246, 0, 0, 54}), Verdict::kEquivalent);
}

TEST(Decide, ManyFlipsInBalanceAreInconclusive) {
  // No difference at all, but 120 of 300 flips: nothing is proven.
  EXPECT_EQ(verdict_of({100, 60, 60, 80}), Verdict::kInconclusive);
}

TEST(Decide, SmallSetsAreInconclusive) {
  EXPECT_EQ(verdict_of({15, 1, 1, 3}), Verdict::kInconclusive);
  EXPECT_EQ(verdict_of({15, 0, 0, 5}), Verdict::kInconclusive);
}

TEST(Decide, ProvenLossBeyondWhatTheMarginAllowsIsWorse) {
  EXPECT_EQ(verdict_of({190, 56, 10, 44}), Verdict::kWorse);
}

TEST(Decide, ProvenLossInsideTheMarginIsEquivalent) {
  // 2000 items, 30 lost, 0 gained: p ~ 1e-9, yet the loss is below 2.5 points.
  const PairedCounts counts{1600, 30, 0, 370};
  EXPECT_LT(mcnemar(counts).exact, 1e-6);
  EXPECT_EQ(verdict_of(counts), Verdict::kEquivalent);
  EXPECT_EQ(verdict_of(counts, 0.01), Verdict::kWorse);
}

TEST(Decide, GainsBeyondTheMarginAreNotWorse) {
  EXPECT_EQ(verdict_of({190, 10, 56, 44}), Verdict::kNotWorse);
}

TEST(Decide, HolmsCorrectionTakesAwayAWeakProof) {
  const PairedCounts counts{230, 16, 5, 49};
  ASSERT_LT(mcnemar(counts).exact, 0.05);
  EXPECT_EQ(decide(counts, 0.05, mcnemar(counts).exact).verdict, Verdict::kWorse);
  EXPECT_EQ(decide(counts, 0.05, 0.2).verdict, Verdict::kInconclusive);
}

TEST(Decide, AReferenceThatFailsProvesNothing) {
  // 4 of 300 right on both sides looks like perfect agreement.
  const Decision decision = decide({4, 0, 0, 296}, 0.05, 1);
  EXPECT_TRUE(decision.uninformative);
  EXPECT_EQ(decision.verdict, Verdict::kInconclusive);
}

TEST(Decide, ProvableMarginIsTheBoundary) {
  const PairedCounts counts{230, 10, 8, 52};
  const double margin = decide(counts, 0.5, 1).provable_margin;
  EXPECT_EQ(verdict_of(counts, margin * 1.0001), Verdict::kEquivalent);
  EXPECT_EQ(verdict_of(counts, margin * 0.9999), Verdict::kInconclusive);
}

// The decisive side of the boundary: McNemar's false-positive rate with no true loss.
TEST(Decide, IntervalsAreNested) {
  const Decision decision = decide({200, 20, 10, 70}, 0.05, 1);
  EXPECT_LT(decision.interval95.low, decision.interval90.low);
  EXPECT_GT(decision.interval95.high, decision.interval90.high);
}

TEST(Decide, RefusesAMarginThatIsNone) {
  EXPECT_THROW((void)decide({1, 0, 0, 0}, 0, 1), UsageError);
  EXPECT_THROW((void)decide({1, 0, 0, 0}, 5, 1), UsageError);
  EXPECT_THROW((void)decide({}, 0.05, 1), UsageError);
}

TEST(Holm, MatchesStatsmodels) {
  const Json golden = stat_golden().at("holm");
  const auto adjusted = holm(golden.at("p").get<std::vector<double>>());
  const auto expected = golden.at("adjusted").get<std::vector<double>>();
  ASSERT_EQ(adjusted.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(adjusted[i], expected[i], 1e-12);
  EXPECT_TRUE(holm({}).empty());
}

TEST(Verdict, ExitCodesAndOrder) {
  EXPECT_EQ(verdict_exit_code(Verdict::kEquivalent), 0);
  EXPECT_EQ(verdict_exit_code(Verdict::kNotWorse), 0);
  EXPECT_EQ(verdict_exit_code(Verdict::kWorse), 3);
  EXPECT_EQ(verdict_exit_code(Verdict::kInconclusive), 4);
  EXPECT_EQ(verdict_exit_code(Verdict::kInvalid), 5);
  EXPECT_EQ(worse_of(Verdict::kEquivalent, Verdict::kInconclusive), Verdict::kInconclusive);
  EXPECT_EQ(worse_of(Verdict::kWorse, Verdict::kInconclusive), Verdict::kWorse);
  EXPECT_EQ(worse_of(Verdict::kWorse, Verdict::kInvalid), Verdict::kInvalid);
  EXPECT_EQ(verdict_name(Verdict::kNotWorse), "not-worse");
}

}  // namespace
}  // namespace hone
