#include "quant/check/declaration.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

Snapshot with_config(Json quantization) {
  Snapshot snapshot;
  snapshot.config.exists = true;
  snapshot.config.document = Json{{"quantization_config", std::move(quantization)}};
  return snapshot;
}

StoredForm form_of(const Declaration& declared, const char* module) {
  const auto form = declared.form_of(module, "");
  EXPECT_TRUE(form.has_value()) << module;
  return form ? form->form : StoredForm::kForeign;
}

// The configs below have the shape of published ones; lists are cut short.

TEST(Declaration, DeepSeekV3) {
  const Snapshot snapshot = with_config(
      {{"activation_scheme", "dynamic"},
       {"fmt", "e4m3"},
       {"quant_method", "fp8"},
       {"weight_block_size", {128, 128}}}
  );
  const Declaration declared(snapshot);
  EXPECT_EQ(declared.dialect(), QuantDialect::kFp8);
  EXPECT_EQ(declared.block_rows(), 128);
  EXPECT_EQ(form_of(declared, "model.layers.0.self_attn.q_a_proj"), StoredForm::kFp8Block);
  EXPECT_FALSE(declared.form_of("model.layers.0.mlp.up_proj", "")->input_scale);
}

TEST(Declaration, MiniMaxExcludesByComponent) {
  const Snapshot snapshot = with_config(
      {{"quant_method", "fp8"},
       {"activation_scheme", "dynamic"},
       {"weight_block_size", {128, 128}},
       {"modules_to_not_convert", {"gate", "e_score_correction_bias", "lm_head"}}}
  );
  const Declaration declared(snapshot);
  EXPECT_TRUE(declared.excludes("model.layers.0.block_sparse_moe.gate", ""));
  EXPECT_FALSE(declared.excludes("model.layers.0.block_sparse_moe.experts.0.w1", ""));
}

// quant_method fp8 with NVFP4 experts in a list of containers.
TEST(Declaration, DeepSeekV4WithNvfp4Experts) {
  const Snapshot snapshot = with_config(
      {{"quant_method", "fp8"},
       {"activation_scheme", "dynamic"},
       {"weight_block_size", {128, 128}},
       {"quant_algo", "MIXED_PRECISION"},
       {"ignore", {"head", "mtp.*"}},
       {"quantized_layers",
        {{"layers.0.ffn.experts", {{"quant_algo", "NVFP4"}, {"group_size", 16}}}}}}
  );
  const Declaration declared(snapshot);
  EXPECT_EQ(form_of(declared, "layers.0.ffn.experts.7.w1"), StoredForm::kNvfp4);
  EXPECT_EQ(form_of(declared, "layers.0.attn.wq_a"), StoredForm::kFp8Block);
  EXPECT_FALSE(declared.form_of("mtp.0.attn.wq_a", "").has_value());
}

TEST(Declaration, ModelOptWithTheFileAlone) {
  Snapshot snapshot;
  snapshot.quant_file.document = Json{
      {"quantization",
       {{"quant_algo", "NVFP4"},
        {"kv_cache_quant_algo", "FP8"},
        {"exclude_modules", {"lm_head", "model.layers.0.self_attn*"}}}}};
  const Declaration declared(snapshot);
  EXPECT_EQ(declared.dialect(), QuantDialect::kModelOpt);
  EXPECT_EQ(declared.section(), nullptr);
  const auto form = declared.form_of("model.layers.0.mlp.up_proj", "");
  ASSERT_TRUE(form.has_value());
  EXPECT_EQ(form->form, StoredForm::kNvfp4);
  EXPECT_TRUE(form->input_scale);
  EXPECT_FALSE(declared.form_of("model.layers.0.self_attn.q_proj", "").has_value());
}

TEST(Declaration, MixedPrecisionByExactNames) {
  const Snapshot snapshot = with_config(
      {{"quant_method", "modelopt"},
       {"quant_algo", "MIXED_PRECISION"},
       {"ignore", {"mtp*"}},
       {"quantized_layers",
        {{"model.layers.0.linear_attn.out_proj", {{"quant_algo", "FP8"}}},
         {"model.layers.0.mlp.up_proj", {{"quant_algo", "W4A16_NVFP4"}, {"group_size", 16}}}}}}
  );
  const Declaration declared(snapshot);
  EXPECT_EQ(form_of(declared, "model.layers.0.linear_attn.out_proj"), StoredForm::kFp8Tensor);
  EXPECT_EQ(form_of(declared, "model.layers.0.mlp.up_proj"), StoredForm::kNvfp4);
  EXPECT_FALSE(declared.form_of("model.layers.0.mlp.up_proj", "")->input_scale);
  // What is not listed is not quantized.
  EXPECT_FALSE(declared.form_of("model.layers.0.mlp.down_proj", "").has_value());
}

TEST(Declaration, KimiK3) {
  const Json weights = {
      {"group_size", 32},
      {"num_bits", 4},
      {"strategy", "group"},
      {"type", "float"},
      {"scale_dtype", "torch.uint8"}};
  const Snapshot snapshot = with_config(
      {{"quant_method", "compressed-tensors"},
       {"format", "mxfp4-pack-quantized"},
       {"config_groups",
        {{"group_0",
          {{"targets", {"Linear"}}, {"weights", weights}, {"input_activations", nullptr}}}}},
       {"ignore", {"re:.*self_attn.*", "re:.*lm_head.*"}}}
  );
  const Declaration declared(snapshot);
  EXPECT_EQ(form_of(declared, "model.layers.1.mlp.experts.0.w1"), StoredForm::kMxfp4);
  EXPECT_FALSE(declared.form_of("model.layers.1.self_attn.q_proj", "").has_value());
}

TEST(Declaration, ExactNamesBeforeExpressionsBeforeClasses) {
  const auto group = [](const Json& targets, const char* strategy) {
    return Json{
        {"targets", targets},
        {"weights", {{"num_bits", 8}, {"type", "float"}, {"strategy", strategy}}}};
  };
  const Snapshot snapshot = with_config(
      {{"quant_method", "compressed-tensors"},
       {"config_groups",
        {{"group_0", group({"Linear"}, "block")},
         {"group_1", group({"re:.*mlp.*"}, "channel")},
         {"group_2", group({"model.layers.0.mlp.up_proj"}, "tensor")}}}}
  );
  const Declaration declared(snapshot);
  EXPECT_EQ(form_of(declared, "model.layers.0.self_attn.q_proj"), StoredForm::kFp8Block);
  EXPECT_EQ(form_of(declared, "model.layers.0.mlp.down_proj"), StoredForm::kFp8Channel);
  EXPECT_EQ(form_of(declared, "model.layers.0.mlp.up_proj"), StoredForm::kFp8Tensor);
}

TEST(Declaration, StrategiesThatAreLeftOutAndOtherBlocks) {
  const auto form = [](const Json& weights) {
    const Snapshot snapshot = with_config(
        {{"quant_method", "compressed-tensors"},
         {"config_groups", {{"group_0", {{"targets", {"Linear"}}, {"weights", weights}}}}}}
    );
    return form_of(Declaration(snapshot), "model.layers.0.mlp.up_proj");
  };
  EXPECT_EQ(form({{"num_bits", 8}, {"type", "float"}}), StoredForm::kFp8Tensor);
  EXPECT_EQ(
      form({{"num_bits", 8}, {"type", "float"}, {"group_size", -1}}), StoredForm::kFp8Channel
  );
  EXPECT_EQ(form({{"num_bits", 8}, {"type", "float"}, {"group_size", 32}}), StoredForm::kMxfp8);
  const Json block = {{"num_bits", 8}, {"type", "float"}, {"strategy", "block"}};
  Json usual = block;
  usual["block_structure"] = "128x128";
  EXPECT_EQ(form(usual), StoredForm::kFp8Block);
  Json other = block;
  other["block_structure"] = {64, 64};
  EXPECT_EQ(form(other), StoredForm::kForeign);
}

TEST(Declaration, FusedNamesOfEngines) {
  const Snapshot snapshot = with_config(
      {{"quant_method", "compressed-tensors"},
       {"config_groups",
        {{"group_0",
          {{"targets", {"re:.*qkv_proj"}},
           {"weights", {{"num_bits", 8}, {"type", "float"}, {"strategy", "channel"}}}}}}}}
  );
  const Declaration declared(snapshot);
  EXPECT_TRUE(declared
                  .form_of("model.layers.0.self_attn.q_proj", "model.layers.0.self_attn.qkv_proj")
                  .has_value());
  EXPECT_FALSE(declared.form_of("model.layers.0.self_attn.q_proj", "").has_value());
}

TEST(Declaration, OthersAndNone) {
  EXPECT_EQ(Declaration(Snapshot()).dialect(), QuantDialect::kNone);
  const Snapshot awq = with_config({{"quant_method", "awq"}, {"bits", 4}});
  EXPECT_EQ(Declaration(awq).dialect(), QuantDialect::kForeign);
  EXPECT_FALSE(Declaration(awq).form_of("model.layers.0.mlp.up_proj", "").has_value());
}

TEST(Declaration, NonsenseIsListedNotThrown) {
  for (const Json& section :
       {Json{{"quant_method", 3}},
        Json{{"quant_method", "fp8"}, {"weight_block_size", {0, -1}}},
        Json{{"quant_method", "fp8"}, {"weight_block_size", "128"}, {"ignore", 7}},
        Json{{"quant_method", "compressed-tensors"}, {"config_groups", {{"group_0", 1}}}},
        Json{{"quant_method", "modelopt"}, {"quantized_layers", {{"a", 1}}}}}) {
    const Snapshot snapshot = with_config(section);
    const Declaration declared(snapshot);
    (void)declared.form_of("model.layers.0.mlp.up_proj", "");
  }
  const Snapshot wrong = with_config({{"quant_method", "fp8"}, {"weight_block_size", {0, -1}}});
  ASSERT_EQ(Declaration(wrong).mistakes().size(), 1U);
  EXPECT_EQ(Declaration(wrong).mistakes()[0], "weight_block_size is [0,-1], expected two sizes");
}

}  // namespace
}  // namespace hone
