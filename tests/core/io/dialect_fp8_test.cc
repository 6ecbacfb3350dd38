#include "core/io/dialect_fp8.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/threads.h"
#include "core/format/load.h"
#include "tests/core/io/quantized_checkpoint.h"

namespace hone {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

const Json kConfig = {{"quant_method", "fp8"}, {"weight_block_size", {128, 128}}};

NamedModule module_of(const std::string& name, int64_t rows, int64_t cols) {
  ThreadPool pool(1);
  NamedModule module{name, quantize_block_fp8(ramp(rows, cols).view(), {}, name, pool)};
  module.tensor.activation = ActivationRule::kFp8Group128;
  return module;
}

TEST(Fp8DialectTest, WritesAndReadsTheNamesOfDeepSeek) {
  TempFolder folder;
  const std::vector<NamedModule> modules = {
      module_of("model.layers.0.self_attn.q_proj", 130, 272),
      module_of("model.layers.0.mlp.up_proj", 128, 128)};
  write_with(Fp8Dialect(), folder.path(), modules, {"lm_head"});
  const auto checkpoint = Checkpoint::open(folder.path());
  EXPECT_TRUE(checkpoint->contains("model.layers.0.self_attn.q_proj.weight_scale_inv"));
  const Dialect* dialect = detect_dialect(*checkpoint);
  ASSERT_NE(dialect, nullptr);
  EXPECT_EQ(dialect->name(), "fp8");
  EXPECT_THAT(
      dialect->modules(*checkpoint),
      ElementsAre("model.layers.0.mlp.up_proj", "model.layers.0.self_attn.q_proj")
  );
  for (const NamedModule& module : modules) {
    const QuantizedTensor read = dialect->read(*checkpoint, module.name);
    EXPECT_TRUE(same_bytes(read.codes, module.tensor.codes));
    EXPECT_TRUE(same_bytes(read.block_scales, module.tensor.block_scales));
    EXPECT_EQ(read.activation, ActivationRule::kFp8Group128);
  }
}

TEST(Fp8DialectTest, TheConfigIsWhatEnginesRead) {
  const Fp8Dialect dialect;
  QuantizedModule module{
      .module = "m", .activation = ActivationRule::kFp8Group128, .rows = 1, .cols = 1};
  const std::vector<std::string> left = {"lm_head", "model.layers.0.mlp.gate"};
  EXPECT_EQ(
      dialect.quantization_config({std::span(&module, 1), left}),
      Json::parse(R"({"quant_method":"fp8","fmt":"e4m3","activation_scheme":"dynamic",
                            "weight_block_size":[128,128],
                            "modules_to_not_convert":["lm_head","model.layers.0.mlp.gate"],
                            "ignored_layers":["lm_head","model.layers.0.mlp.gate"]})")
  );
  module.power_of_two_scales = true;
  EXPECT_EQ(dialect.quantization_config({std::span(&module, 1), left})["scale_fmt"], "ue8m0");
  EXPECT_TRUE(dialect.extra_files({std::span(&module, 1), left}).empty());
}

TEST(Fp8DialectTest, RefusesWhatItCannotSay) {
  const Fp8Dialect dialect;
  QuantizedModule module{
      .module = "m", .activation = ActivationRule::kFp8Group128, .rows = 5, .cols = 7};
  EXPECT_FALSE(dialect.refuses(module));
  module.activation = ActivationRule::kNone;
  EXPECT_TRUE(dialect.refuses(module));
  module.activation = ActivationRule::kFp8Group128;
  module.format = Format::kNvfp4;
  EXPECT_TRUE(dialect.refuses(module));
}

TEST(Fp8DialectTest, MissingPartsAreNamed) {
  TempFolder folder;
  const Fp8Dialect dialect;
  const auto lone_codes =
      checkpoint_of(folder / "1", {{"x.weight", Tensor(DType::kF8E4M3, {2, 2})}}, kConfig);
  EXPECT_THAT(
      message_of<DataError>([&] { (void)dialect.modules(*lone_codes); }),
      HasSubstr("\"x.weight\" has no \"x.weight_scale_inv\"")
  );
  const auto lone_scale =
      checkpoint_of(folder / "2", {{"x.weight_scale_inv", Tensor(DType::kF32, {1, 1})}}, kConfig);
  EXPECT_THAT(
      message_of<DataError>([&] { (void)dialect.modules(*lone_scale); }),
      HasSubstr("\"x.weight_scale_inv\" has no \"x.weight\"")
  );
  // Other one-byte types are not taken for FP8.
  const auto bytes =
      checkpoint_of(folder / "3", {{"x.weight", Tensor(DType::kU8, {2, 2})}}, kConfig);
  EXPECT_TRUE(dialect.modules(*bytes).empty());
}

TEST(Fp8DialectTest, OneScalePerTensorWithoutABlockSize) {
  TempFolder folder;
  Tensor scale(DType::kF32, {});
  scale.as<float>()[0] = 0.25F;
  const std::map<std::string, Tensor> tensors = {
      {"x.weight", Tensor(DType::kF8E4M3, {3, 5})},
      {"x.weight_scale", scale},
      {"x.input_scale", scale.clone()}};
  const Json fixed = {{"quant_method", "fp8"}, {"activation_scheme", "static"}};
  const auto checkpoint = checkpoint_of(folder / "1", tensors, fixed);
  const Dialect* dialect = detect_dialect(*checkpoint);
  ASSERT_NE(dialect, nullptr);
  EXPECT_EQ(dialect->modules(*checkpoint), std::vector<std::string>{"x"});
  const QuantizedTensor read = dialect->read(*checkpoint, "x");
  EXPECT_EQ(read.format, Format::kFp8Tensor);
  EXPECT_EQ(read.activation, ActivationRule::kFp8Tensor);
  EXPECT_EQ(read.global.multiplier(), 0.25F);
  std::map<std::string, Tensor> without = tensors;
  without.erase("x.input_scale");
  const auto lone = checkpoint_of(folder / "2", without, fixed);
  EXPECT_THAT(
      message_of<DataError>([&] { (void)dialect->modules(*lone); }),
      HasSubstr("has no \"x.input_scale\"")
  );
  const auto dynamic = checkpoint_of(folder / "3", without, {{"quant_method", "fp8"}});
  EXPECT_EQ(dialect->read(*dynamic, "x").activation, ActivationRule::kFp8Token);
}

TEST(Fp8DialectTest, OneFolderHoldsOneScheme) {
  const std::vector<QuantizedModule> mixed = {
      {.module = "a", .activation = ActivationRule::kFp8Group128, .rows = 1, .cols = 1},
      {.module = "b",
       .format = Format::kFp8Tensor,
       .activation = ActivationRule::kFp8Token,
       .rows = 1,
       .cols = 1}};
  EXPECT_THAT(
      message_of<UsageError>([&] {
        (void)Fp8Dialect().quantization_config({mixed, {}});
      }),
      AllOf(HasSubstr("a is fp8-block"), HasSubstr("b is fp8-tensor"))
  );
  const Json config = Fp8Dialect().quantization_config({std::span(mixed).subspan(1), {}});
  EXPECT_FALSE(config.contains("weight_block_size"));
  EXPECT_EQ(config["activation_scheme"], "dynamic");
}

TEST(Fp8DialectTest, RealVariantsOfTheConfig) {
  TempFolder folder;
  const std::map<std::string, Tensor> tensors = {{"x", Tensor(DType::kU8, {1})}};
  // MiniMax-M2 spells the type out; Step-3.7 leaves it out; DeepSeek-V3.2 has power-of-two scales.
  for (const Json& extra :
       {Json{{"fmt", "float8_e4m3fn"}}, Json::object(), Json{{"scale_fmt", "ue8m0"}}}) {
    Json config = kConfig;
    config.update(extra);
    const auto checkpoint = checkpoint_of(folder.path(), tensors, config);
    EXPECT_TRUE(detect_dialect(*checkpoint)->modules(*checkpoint).empty());
  }
  const Json bad[] = {{{"fmt", "e5m2"}}, {{"activation_scheme", "static"}}};
  for (const Json& extra : bad) {
    Json config = kConfig;
    config.update(extra);
    const auto checkpoint = checkpoint_of(folder.path(), tensors, config);
    EXPECT_THROW((void)Fp8Dialect().modules(*checkpoint), DataError) << dump_json(extra);
  }
}

TEST(Fp8DialectTest, OtherBlockSizesAreRefused) {
  TempFolder folder;
  const auto checkpoint = checkpoint_of(
      folder.path(),
      {{"x", Tensor(DType::kU8, {1})}},
      {{"quant_method", "fp8"}, {"weight_block_size", {64, 128}}}
  );
  EXPECT_THAT(
      message_of<DataError>([&] { (void)detect_dialect(*checkpoint)->modules(*checkpoint); }),
      AllOf(HasSubstr("config.json"), HasSubstr("[64,128]"))
  );
}

class Fp8Scales : public testing::Test {
 protected:
  std::string complaint(const std::map<std::string, Tensor>& tensors) {
    const auto checkpoint = checkpoint_of(folder_.path(), tensors, kConfig);
    return message_of<DataError>([&] { (void)Fp8Dialect().read(*checkpoint, "x"); });
  }
  TempFolder folder_;
  Tensor codes_{DType::kF8E4M3, {200, 130}};
  Tensor scales_{DType::kF32, {2, 2}};
};

TEST_F(Fp8Scales, WrongShapesAndTypes) {
  for (float& s : scales_.as<float>()) s = 1.0F;
  EXPECT_EQ(complaint({{"x.weight", codes_}, {"x.weight_scale_inv", scales_}}), "");
  EXPECT_THAT(
      complaint({{"x.weight", codes_}, {"x.weight_scale_inv", Tensor(DType::kF32, {2, 1})}}),
      HasSubstr("block scales are F32 [2, 1], expected F32 [2, 2]")
  );
  EXPECT_THAT(
      complaint({{"x.weight", codes_}, {"x.weight_scale_inv", Tensor(DType::kI32, {2, 2})}}),
      HasSubstr("block scales are I32")
  );
  EXPECT_THAT(
      complaint({{"x.weight", Tensor(DType::kF8E4M3, {4})}, {"x.weight_scale_inv", scales_}}),
      HasSubstr("rank 2")
  );
}

TEST_F(Fp8Scales, MustBePositiveUnlessTheBlockIsZero) {
  const std::span<float> scales = scales_.as<float>();
  for (float& s : scales) s = 1.0F;
  for (const float bad : {-1.0F, INFINITY, NAN}) {
    scales[3] = bad;
    EXPECT_THAT(
        complaint({{"x.weight", codes_}, {"x.weight_scale_inv", scales_}}),
        HasSubstr("block scale [1, 1]")
    );
  }
  scales[3] = 0.0F;
  codes_.bytes()[199 * 130 + 129] = std::byte{0x80};
  EXPECT_EQ(complaint({{"x.weight", codes_}, {"x.weight_scale_inv", scales_}}), "");
  codes_.bytes()[199 * 130 + 129] = std::byte{0x01};
  EXPECT_THAT(
      complaint({{"x.weight", codes_}, {"x.weight_scale_inv", scales_}}),
      HasSubstr("block scale [1, 1] is 0")
  );
}

TEST_F(Fp8Scales, Bf16AndE8m0ScalesAreReadExactly) {
  const float values[] = {0.25F, 1.0F, 2.0F, 0.5F};
  for (const DType type : {DType::kBF16, DType::kF16}) {
    Tensor stored(type, {2, 2});
    store_floats(type, values, 4, stored.bytes());
    const auto checkpoint = checkpoint_of(
        folder_.path(), {{"x.weight", codes_}, {"x.weight_scale_inv", stored}}, kConfig
    );
    const Tensor scales = Fp8Dialect().read(*checkpoint, "x").block_scales;
    EXPECT_THAT(scales.as<float>(), ElementsAre(0.25F, 1.0F, 2.0F, 0.5F));
  }
  Tensor exponents(DType::kF8E8M0, {2, 2});
  for (int i = 0; i < 4; ++i) exponents.bytes()[i] = static_cast<std::byte>(125 + i);
  const auto checkpoint = checkpoint_of(
      folder_.path(), {{"x.weight", codes_}, {"x.weight_scale_inv", exponents}}, kConfig
  );
  const Tensor scales = Fp8Dialect().read(*checkpoint, "x").block_scales;
  EXPECT_THAT(scales.as<float>(), ElementsAre(0.25F, 0.5F, 1.0F, 2.0F));
}

TEST_F(Fp8Scales, MisalignedScalesAreCopied) {
  for (float& s : scales_.as<float>()) s = 3.0F;
  // One byte in front shifts everything that follows.
  const auto checkpoint = checkpoint_of(
      folder_.path(),
      {{"a", Tensor(DType::kU8, {1})}, {"x.weight", codes_}, {"x.weight_scale_inv", scales_}},
      kConfig
  );
  ASSERT_NE(reinterpret_cast<uintptr_t>(checkpoint->tensor("x.weight_scale_inv").data) % 4, 0U);
  const Tensor read = Fp8Dialect().read(*checkpoint, "x").block_scales;
  EXPECT_EQ(read.as<float>()[3], 3.0F);
}

}  // namespace
}  // namespace hone
