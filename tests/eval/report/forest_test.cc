#include "eval/report/forest.h"

#include <gtest/gtest.h>

#include "tests/eval/report/sample_evaluation.h"

namespace hone {
namespace {

PairedMetric metric(Interval interval95) {
  PairedMetric out{.key = "x", .title = "x", .definition = ""};
  out.counts = {50, 3, 1, 46};
  out.decision.interval95 = interval95;
  out.decision.interval90 = {interval95.low * 0.8, interval95.high * 0.8};
  return out;
}

TEST(Forest, PlacesEstimateAndBand) {
  const std::string svg = forest_svg(metric({-0.06, 0.02}), 0.05, 0.10);
  // Axis from 6 to 234 for -10 .. +10 points: -2 points lie at 97.2, the band is 63 to 177.
  EXPECT_NE(svg.find("cx=\"97.2\""), std::string::npos) << svg;
  EXPECT_NE(svg.find("x=\"63.0\" width=\"114.0\""), std::string::npos) << svg;
  EXPECT_NE(
      svg.find("difference -2.0 points, 95 % interval -6.0 to +2.0, margin 5"), std::string::npos
  );
  EXPECT_EQ(svg.find("arrow"), std::string::npos);
}

TEST(Forest, ArrowsWhereTheIntervalLeavesTheAxis) {
  const std::string svg = forest_svg(metric({-0.5, 0.5}), 0.05, 0.10);
  EXPECT_NE(svg.find("class=\"ci95\" x1=\"6.0\" x2=\"234.0\""), std::string::npos) << svg;
  EXPECT_NE(svg.find("M6 15l6"), std::string::npos);
  EXPECT_NE(svg.find("M234 15l-6"), std::string::npos);
}

TEST(Forest, ReachFitsTheWidestDecidingInterval) {
  Evaluation evaluation = sample_evaluation();
  EXPECT_DOUBLE_EQ(forest_reach(evaluation), 0.10);
  evaluation.tasks[1].metrics[1].decision.interval95 = {-0.9, 0.1};  // shown only
  EXPECT_DOUBLE_EQ(forest_reach(evaluation), 0.10);
  evaluation.tasks[1].metrics[0].decision.interval95 = {-0.2, 0.1};
  EXPECT_DOUBLE_EQ(forest_reach(evaluation), 0.22);
  evaluation.tasks[1].metrics[0].decision.interval95 = {-1, 0.1};
  EXPECT_DOUBLE_EQ(forest_reach(evaluation), 1.0);
}

}  // namespace
}  // namespace hone
