#include "quant/input_scale.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"

namespace hone {
namespace {

using ::testing::HasSubstr;

PlanEntry entry(
    const char* module,
    Role role,
    const char* group,
    int64_t layer = 0,
    const char* scheme = "nvfp4"
) {
  PlanEntry e;
  e.tensor = std::string(module) + ".weight";
  e.module = module;
  e.role = role;
  e.layer = layer;
  e.fused_group = group;
  e.shape = Shape{128, 64};
  e.scheme = find_scheme(scheme);
  return e;
}

ModuleStats stats_of(float amax) {
  ModuleStats stats;
  stats.rows = 128;
  stats.cols = 64;
  stats.input_amax = amax;
  return stats;
}

std::string error_of(const Plan& plan, const CalibrationStats& stats) {
  try {
    input_scales(plan, stats, "calib.h5");
  } catch (const DataError& error) {
    return error.what();
  }
  return "(no error)";
}

TEST(InputScale, FusedGroupsShareTheLargest) {
  Plan plan;
  plan.entries = {
      entry("q", Role::kAttnQ, "qkv"),
      entry("k", Role::kAttnK, "qkv"),
      entry("o", Role::kAttnO, "")};
  CalibrationStats stats;
  stats.modules = {{"q", stats_of(2.0F)}, {"k", stats_of(2688.0F)}, {"o", stats_of(5376.0F)}};
  const auto scales = input_scales(plan, stats, "calib.h5");
  ASSERT_EQ(scales.size(), 3U);
  EXPECT_EQ(scales.at("q"), 1.0F);
  EXPECT_EQ(scales.at("k"), 1.0F);
  EXPECT_EQ(scales.at("o"), 2.0F);
}

TEST(InputScale, StaticFp8HasItsOwnRange) {
  Plan plan;
  plan.entries = {
      entry("q", Role::kAttnQ, "qkv", 0, "fp8-tensor"),
      entry("k", Role::kAttnK, "qkv", 0, "fp8-tensor")};
  CalibrationStats stats;
  stats.modules = {{"q", stats_of(2.0F)}, {"k", stats_of(896.0F)}};
  const auto scales = input_scales(plan, stats, "calib.h5");
  EXPECT_EQ(scales.at("q"), 2.0F);
  EXPECT_EQ(scales.at("k"), 2.0F);
  EXPECT_TRUE(needs_input_scales(plan));
}

TEST(InputScale, ScalesSurviveInversion) {
  Plan plan;
  plan.entries = {entry("o", Role::kAttnO, "")};
  CalibrationStats stats;
  for (const float amax : {1.7F, 3.3333F, 91.25F, 0.004F}) {
    stats.modules = {{"o", stats_of(amax)}};
    const float scale = input_scales(plan, stats, "calib.h5").at("o");
    EXPECT_EQ(1.0F / (1.0F / scale), scale);
    EXPECT_NEAR(scale, amax / 2688.0F, 1e-6F * amax);
  }
}

TEST(InputScale, ExpertsWithoutTokensTakeTheirPeersValue) {
  Plan plan;
  plan.entries = {
      entry("e0.gate", Role::kMoeGate, "e0.gate_up", 1),
      entry("e0.up", Role::kMoeUp, "e0.gate_up", 1),
      entry("e0.down", Role::kMoeDown, "", 1),
      entry("e1.gate", Role::kMoeGate, "e1.gate_up", 1),
      entry("e1.up", Role::kMoeUp, "e1.gate_up", 1),
      entry("e1.down", Role::kMoeDown, "", 1),
      entry("far.down", Role::kMoeDown, "", 2)};
  CalibrationStats stats;
  stats.modules = {
      {"e0.gate", stats_of(2688.0F)},
      {"e0.up", stats_of(2688.0F)},
      {"e0.down", stats_of(5376.0F)},
      {"e1.gate", stats_of(0.0F)},
      {"e1.up", stats_of(0.0F)},
      {"e1.down", stats_of(0.0F)},
      {"far.down", stats_of(10752.0F)}};
  const auto scales = input_scales(plan, stats, "calib.h5");
  EXPECT_EQ(scales.at("e1.gate"), 1.0F);
  EXPECT_EQ(scales.at("e1.up"), 1.0F);
  EXPECT_EQ(scales.at("e1.down"), 2.0F);
  EXPECT_EQ(scales.at("far.down"), 4.0F);
}

TEST(InputScale, ADenseModuleWithoutAnyInputIsAnError) {
  Plan plan;
  plan.entries = {entry("o", Role::kAttnO, "")};
  CalibrationStats stats;
  stats.modules = {{"o", stats_of(0.0F)}};
  EXPECT_THAT(error_of(plan, stats), HasSubstr("calib.h5: the input of o was zero"));
}

TEST(InputScale, MissingAndForeignStatisticsAreNamed) {
  Plan plan;
  plan.entries = {entry("o", Role::kAttnO, "")};
  CalibrationStats stats;
  EXPECT_THAT(error_of(plan, stats), HasSubstr("calib.h5: no statistics of o"));
  stats.modules = {{"o", stats_of(1.0F)}};
  stats.modules["o"].cols = 32;
  EXPECT_THAT(error_of(plan, stats), HasSubstr("shape [128, 32], the checkpoint has [128, 64]"));
}

TEST(InputScale, OnlyQuantizedActivationsNeedOne) {
  Plan plan;
  plan.entries = {entry("o", Role::kAttnO, "", 0, "nvfp4a16")};
  EXPECT_FALSE(needs_input_scales(plan));
  EXPECT_TRUE(input_scales(plan, {}, "calib.h5").empty());
  plan.entries.push_back(entry("q", Role::kAttnQ, ""));
  EXPECT_TRUE(needs_input_scales(plan));
}

}  // namespace
}  // namespace hone
