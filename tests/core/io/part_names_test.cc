#include "core/io/part_names.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

void expect_part(std::string_view tensor, std::string_view module, Part part) {
  const std::optional<PartName> found = parse_part(tensor);
  ASSERT_TRUE(found.has_value()) << tensor;
  EXPECT_EQ(found->module, module);
  EXPECT_EQ(found->part, part);
  EXPECT_EQ(found->module + std::string(part_suffix(part)), tensor);
}

// Names as published checkpoints have them.
TEST(PartNames, OfEveryDialect) {
  expect_part("model.norm.weight", "model.norm", Part::kWeight);
  expect_part("a.q_proj.weight_scale", "a.q_proj", Part::kScale);
  expect_part("a.q_proj.weight_scale_inv", "a.q_proj", Part::kScaleInv);
  expect_part("a.q_proj.weight_scale_2", "a.q_proj", Part::kGlobalMultiplier);
  expect_part("a.q_proj.weight_packed", "a.q_proj", Part::kPackedWeight);
  expect_part("a.q_proj.weight_global_scale", "a.q_proj", Part::kGlobalDivisor);
  expect_part("a.q_proj.input_scale", "a.q_proj", Part::kInputMultiplier);
  expect_part("a.q_proj.input_global_scale", "a.q_proj", Part::kInputDivisor);
  expect_part("model.layers.0.self_attn.k_scale", "model.layers.0.self_attn", Part::kKScale);
  expect_part("e.gate_up_proj_blocks", "e.gate_up_proj", Part::kBlocks);
  expect_part("e.gate_up_proj_scales", "e.gate_up_proj", Part::kBlockExponents);
}

TEST(PartNames, OthersAreNone) {
  for (const char* name :
       {"", ".weight", "weight", "model.layers.0.mlp.gate.e_score_correction_bias", "a._amax"})
    EXPECT_FALSE(parse_part(name).has_value()) << name;
}

TEST(PartNames, WhatNeedsCodes) {
  EXPECT_TRUE(needs_codes(Part::kScale));
  EXPECT_TRUE(needs_codes(Part::kInputMultiplier));
  EXPECT_FALSE(needs_codes(Part::kWeight));
  EXPECT_FALSE(needs_codes(Part::kBias));
  EXPECT_FALSE(needs_codes(Part::kKScale));
  EXPECT_TRUE(is_kv_scale(Part::kVScale));
  EXPECT_FALSE(is_kv_scale(Part::kScale));
}

}  // namespace
}  // namespace hone
