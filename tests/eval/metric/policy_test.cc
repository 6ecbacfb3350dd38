#include "eval/metric/policy.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace hone {
namespace {

PairedMetric metric(const std::string& key, PairedCounts counts, bool decides = true) {
  return {.key = key, .title = key, .decides = decides, .counts = counts};
}

TaskResult task(const std::string& key, std::vector<PairedMetric> metrics) {
  TaskResult out;
  out.key = key;
  out.metrics = std::move(metrics);
  return out;
}

TaskResult kl_task(double mean, double low, double high) {
  TaskResult out;
  out.key = "kl";
  out.distribution.emplace();
  out.distribution->mean_kl = {mean, {low, high}};
  return out;
}

Evaluation evaluation(std::vector<TaskResult> tasks) {
  Evaluation out;
  out.reference.name = "base";
  out.candidate.name = "small";
  out.tasks = std::move(tasks);
  judge(out);
  return out;
}

const PairedCounts kEqual{240, 5, 6, 49};
const PairedCounts kLoss{180, 66, 10, 44};
const PairedCounts kOpen{100, 50, 50, 100};

TEST(Judge, WorstMetricDecides) {
  EXPECT_EQ(evaluation({task("a", {metric("x", kEqual)})}).verdict, Verdict::kEquivalent);
  EXPECT_EQ(
      evaluation({task("a", {metric("x", kEqual), metric("y", kOpen)})}).verdict,
      Verdict::kInconclusive
  );
  const Evaluation worse =
      evaluation({task("a", {metric("x", kOpen)}), task("b", {metric("y", kLoss)})});
  EXPECT_EQ(worse.verdict, Verdict::kWorse);
  EXPECT_EQ(worse.tasks[0].verdict, Verdict::kInconclusive);
  EXPECT_EQ(worse.headline, "small is worse than base");
  EXPECT_NE(worse.tasks[1].reason.find("66 lost, 10 gained"), std::string::npos);
}

TEST(Judge, ShownMetricsDoNotDecide) {
  const Evaluation e =
      evaluation({task("a", {metric("x", kEqual), metric("shown", kLoss, false)})});
  EXPECT_EQ(e.verdict, Verdict::kEquivalent);
  EXPECT_LT(e.tasks[0].metrics[1].decision.test.exact, 0.001);
}

TEST(Judge, HolmSpansAllTasks) {
  // p = 0.027 alone proves the loss; with nine further metrics it does not.
  const PairedCounts weak{230, 16, 5, 49};
  EXPECT_EQ(evaluation({task("a", {metric("x", weak)})}).verdict, Verdict::kWorse);
  std::vector<TaskResult> tasks = {task("a", {metric("x", weak)})};
  for (int i = 0; i < 9; ++i) tasks.push_back(task("b", {metric("y", {246, 0, 0, 54})}));
  const Evaluation many = evaluation(std::move(tasks));
  EXPECT_EQ(many.verdict, Verdict::kInconclusive);
  EXPECT_NEAR(many.tasks[0].metrics[0].decision.adjusted_p, 10 * mcnemar(weak).exact, 1e-12);
}

TEST(Judge, KlLimit) {
  EXPECT_EQ(evaluation({kl_task(0.02, 0.01, 0.04)}).verdict, Verdict::kEquivalent);
  EXPECT_EQ(evaluation({kl_task(0.04, 0.03, 0.06)}).verdict, Verdict::kInconclusive);
  EXPECT_EQ(evaluation({kl_task(0.09, 0.08, 0.10)}).verdict, Verdict::kWorse);
}

TEST(Judge, InvalidOutweighsEverything) {
  TaskResult broken = task("a", {});
  broken.invalid = "the prompts differ, item 0: token 3 is 5 and 6";
  const Evaluation e = evaluation({broken, task("b", {metric("y", kLoss)})});
  EXPECT_EQ(e.verdict, Verdict::kInvalid);
  EXPECT_EQ(e.tasks[0].reason, broken.invalid);
  EXPECT_EQ(e.tasks[1].verdict, Verdict::kWorse);
  EXPECT_EQ(verdict_exit_code(e.verdict), 5);
}

TEST(Judge, ATruncatedReferenceIsNoYardstick) {
  TaskResult cut = task("a", {metric("x", kEqual)});
  cut.rates = {{"truncated", "Cut", 16, 0, 300}};
  const Evaluation invalid = evaluation({cut});
  EXPECT_EQ(invalid.verdict, Verdict::kInvalid);
  EXPECT_NE(invalid.tasks[0].reason.find("--max-tokens"), std::string::npos);
  // The same fault of the candidate is the candidate's own.
  cut.rates = {{"truncated", "Cut", 15, 200, 300}};
  EXPECT_EQ(evaluation({cut}).verdict, Verdict::kEquivalent);
}

TEST(Judge, EmptyTasksAreInvalid) {
  EXPECT_EQ(evaluation({task("a", {metric("x", {})})}).verdict, Verdict::kInvalid);
  EXPECT_EQ(
      evaluation({task("a", {metric("x", kEqual), metric("none", {})})}).verdict,
      Verdict::kEquivalent
  );
}

TEST(Judge, InconclusiveSaysWhatWouldHelp) {
  const Evaluation few = evaluation({task("a", {metric("x", {15, 1, 1, 3})})});
  EXPECT_NE(few.tasks[0].reason.find("about 343 items are needed"), std::string::npos)
      << few.tasks[0].reason;
  const Evaluation hopeless = evaluation({task("a", {metric("x", {2, 1, 0, 297})})});
  EXPECT_EQ(hopeless.verdict, Verdict::kInconclusive);
  EXPECT_NE(
      hopeless.tasks[0].reason.find("the reference itself gets only 1.0 % right"), std::string::npos
  );
}

TEST(Judge, RefusesAPolicyOutOfRange) {
  Evaluation e;
  EXPECT_THROW(judge(e), UsageError);
  e.tasks = {task("a", {metric("x", kEqual)})};
  e.policy.margin = 5;
  EXPECT_THROW(judge(e), UsageError);
  e.policy = {};
  e.policy.kl_limit = 0;
  EXPECT_THROW(judge(e), UsageError);
}

TEST(PairedMetric, KeepsFlipsBothWays) {
  PairedMetric m = metric("x", {});
  m.add(0, true, true);
  m.add(1, true, false);
  m.add(2, false, true);
  m.add(3, true, false);
  EXPECT_EQ(m.lost, (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(m.gained, (std::vector<int64_t>{2}));
  EXPECT_EQ(m.counts, (PairedCounts{1, 2, 1, 0}));
}

TEST(FormatPoints, SignAndZero) {
  EXPECT_EQ(format_points(-0.0133), "-1.3 points");
  EXPECT_EQ(format_points(0.02), "+2.0 points");
  EXPECT_EQ(format_points(0.0001), "no difference");
}

}  // namespace
}  // namespace hone
