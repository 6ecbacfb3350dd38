#include "quant/select/cost.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"

namespace hone {
namespace {

PlanEntry entry(const char* module, Role role, const char* group) {
  PlanEntry e;
  e.module = module;
  e.role = role;
  e.fused_group = group;
  return e;
}

void measure(CalibrationStats& stats, const char* name, double kl) {
  stats.modules[name].sensitivity["nvfp4"] = {kl, 0.0};
}

TEST(Cost, GroupsThatAreChosenAsAWhole) {
  EXPECT_EQ(choice_group(Role::kAttnQ, "l.0.attn.q_proj", "l.0.attn.qkv"), "l.0.attn.qkv");
  EXPECT_EQ(choice_group(Role::kAttnO, "l.0.attn.o_proj", ""), "l.0.attn.o_proj");
  EXPECT_EQ(
      choice_group(Role::kMoeGate, "l.0.mlp.experts.7.gate_proj", "l.0.mlp.experts.7.gate_up"),
      "l.0.mlp.experts"
  );
  EXPECT_EQ(choice_group(Role::kMoeDown, "l.0.mlp.experts.7.down_proj", ""), "l.0.mlp.experts");
}

TEST(Cost, PrefersTheMeasurementOfTheWhole) {
  const PlanEntry gate = entry("m.gate_proj", Role::kMlpGate, "m.gate_up");
  const PlanEntry up = entry("m.up_proj", Role::kMlpUp, "m.gate_up");
  const std::vector<const PlanEntry*> members = {&gate, &up};
  CalibrationStats stats;
  measure(stats, "m.gate_proj", 0.25);
  measure(stats, "m.up_proj", 0.5);
  EXPECT_DOUBLE_EQ(measured_kl(stats, "m.gate_up", members, Format::kNvfp4), 0.75);
  measure(stats, "m.gate_up", 0.625);
  EXPECT_DOUBLE_EQ(measured_kl(stats, "m.gate_up", members, Format::kNvfp4), 0.625);
}

TEST(Cost, AddsUpTheGroupsOfAnExpertLayer) {
  const PlanEntry gate = entry("m.experts.0.gate_proj", Role::kMoeGate, "m.experts.0.gate_up");
  const PlanEntry up = entry("m.experts.0.up_proj", Role::kMoeUp, "m.experts.0.gate_up");
  const PlanEntry down = entry("m.experts.0.down_proj", Role::kMoeDown, "");
  const std::vector<const PlanEntry*> members = {&gate, &up, &down};
  CalibrationStats stats;
  measure(stats, "m.experts.0.gate_up", 1.0);
  measure(stats, "m.experts.0.down_proj", 2.0);
  EXPECT_DOUBLE_EQ(measured_kl(stats, "m.experts", members, Format::kNvfp4), 3.0);
}

TEST(Cost, NegativeMeasurementsAreNoise) {
  const PlanEntry o = entry("o_proj", Role::kAttnO, "");
  const std::vector<const PlanEntry*> members = {&o};
  CalibrationStats stats;
  measure(stats, "o_proj", -1e-6);
  EXPECT_EQ(measured_kl(stats, "o_proj", members, Format::kNvfp4), 0.0);
}

TEST(Cost, MissingMeasurementsSayWhichAndWhatToDo) {
  const PlanEntry o = entry("m.o_proj", Role::kAttnO, "");
  const std::vector<const PlanEntry*> members = {&o};
  CalibrationStats stats;
  measure(stats, "m.o_proj", 0.1);
  try {
    measured_kl(stats, "m.o_proj", members, Format::kBlockFp8);
    FAIL() << "expected a DataError";
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("no fp8-block sensitivity of m.o_proj"));
    EXPECT_THAT(error.what(), ::testing::HasSubstr("measured there: nvfp4"));
    EXPECT_THAT(error.what(), ::testing::HasSubstr("--sensitivity fp8-block"));
  }
}

}  // namespace
}  // namespace hone
