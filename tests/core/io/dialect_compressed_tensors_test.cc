#include "core/io/dialect_compressed_tensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/format/load.h"
#include "core/json/equal.h"
#include "tests/core/io/quantized_checkpoint.h"

namespace hone {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

Json config_with(const Json& groups, const std::vector<std::string>& ignore = {"lm_head"}) {
  return {
      {"quant_method", "compressed-tensors"},
      {"format", "mixed-precision"},
      {"quantization_status", "compressed"},
      {"config_groups", groups},
      {"ignore", ignore}};
}

Json group(const Json& targets, const Json& weights, const Json& inputs = nullptr) {
  return {
      {"targets", targets},
      {"weights", weights},
      {"input_activations", inputs},
      {"output_activations", nullptr}};
}

const Json kChannel = {{"num_bits", 8}, {"type", "float"}, {"strategy", "channel"}};
const Json kToken = {{"num_bits", 8}, {"type", "float"}, {"strategy", "token"}, {"dynamic", true}};
const Json kNvfp4 = {
    {"num_bits", 4}, {"type", "float"}, {"strategy", "tensor_group"}, {"group_size", 16}};

QuantizedModule described(Format format, ActivationRule activation, const std::string& name = "m") {
  return {.module = name, .format = format, .activation = activation, .rows = 128, .cols = 128};
}

// ---- names on disk

TEST(CompressedTensorsTest, NamesAndShapesOfEveryFormat) {
  const CompressedTensorsDialect dialect;
  const auto names = [&](Format format, ActivationRule activation) {
    QuantizedModule module = described(format, activation);
    module.rows = 130;
    std::vector<std::string> lines;
    for (const DialectPart& part : dialect.parts(module)) {
      lines.push_back(
          part.spec.name + " " + std::string(dtype_name(part.spec.type)) + " " +
          part.spec.shape.str() + (part.divisor ? " divisor" : "")
      );
    }
    return lines;
  };
  EXPECT_THAT(
      names(Format::kBlockFp8, ActivationRule::kFp8Group128),
      ElementsAre("m.weight F8_E4M3 [130, 128]", "m.weight_scale F32 [2, 1]")
  );
  EXPECT_THAT(
      names(Format::kFp8Channel, ActivationRule::kFp8Token),
      ElementsAre("m.weight F8_E4M3 [130, 128]", "m.weight_scale F32 [130, 1]")
  );
  EXPECT_THAT(
      names(Format::kFp8Tensor, ActivationRule::kFp8Tensor),
      ElementsAre("m.weight F8_E4M3 [130, 128]", "m.weight_scale F32 [1]", "m.input_scale F32 [1]")
  );
  EXPECT_THAT(
      names(Format::kNvfp4, ActivationRule::kNvfp4),
      ElementsAre(
          "m.weight_packed U8 [130, 64]",
          "m.weight_scale F8_E4M3 [130, 8]",
          "m.weight_global_scale F32 [1] divisor",
          "m.input_global_scale F32 [1] divisor"
      )
  );
  EXPECT_THAT(
      names(Format::kMxfp4, ActivationRule::kNone),
      ElementsAre("m.weight_packed U8 [130, 64]", "m.weight_scale U8 [130, 4]")
  );
  EXPECT_THAT(
      names(Format::kMxfp8, ActivationRule::kMxfp8),
      ElementsAre("m.weight F8_E4M3 [130, 128]", "m.weight_scale U8 [130, 4]")
  );
}

TEST(CompressedTensorsTest, GlobalScalesAreDivisors) {
  TempFolder folder;
  const NamedModule module = encoded("m", Format::kNvfp4, ActivationRule::kNvfp4, 4, 32);
  write_with(CompressedTensorsDialect(), folder.path(), {module}, {});
  const auto checkpoint = Checkpoint::open(folder.path());
  const float stored = checkpoint->tensor("m.weight_global_scale").as<float>()[0];
  EXPECT_EQ(stored, 1.0F / module.tensor.global.value);
  const QuantizedTensor read = CompressedTensorsDialect().read(*checkpoint, "m");
  EXPECT_TRUE(read.global.divisor);
  EXPECT_EQ(read.global.value, stored);
  EXPECT_TRUE(read.input_scale->divisor);
}

TEST(CompressedTensorsTest, RefusesWhatItHasNoNameFor) {
  const CompressedTensorsDialect dialect;
  EXPECT_THAT(
      *dialect.refuses(described(Format::kNvfp4, ActivationRule::kFp8Token)), HasSubstr("no name")
  );
  QuantizedModule narrow = described(Format::kMxfp4, ActivationRule::kNone);
  narrow.cols = 48;
  EXPECT_THAT(*dialect.refuses(narrow), HasSubstr("48 input features are no multiple of 32"));
  const QuantizedModule bad = described(Format::kNvfp4, ActivationRule::kFp8Token);
  EXPECT_THROW((void)dialect.quantization_config({std::span(&bad, 1), {}}), UsageError);
  EXPECT_THROW((void)dialect.quantization_config({}), UsageError);
  const QuantizedModule good = described(Format::kNvfp4, ActivationRule::kNone);
  EXPECT_THAT(
      message_of<UsageError>([&] {
        (void)dialect.quantization_config({std::span(&good, 1), {}, KvCacheFormat::kNvfp4});
      }),
      HasSubstr("modelopt")
  );
}

// ---- the config

TEST(CompressedTensorsTest, TheConfigOfOneScheme) {
  const CompressedTensorsDialect dialect;
  const QuantizedModule module = described(Format::kNvfp4, ActivationRule::kNvfp4);
  const std::vector<std::string> left = {"lm_head", "model.layers.0.mlp.gate"};
  Json config = dialect.quantization_config({std::span(&module, 1), left, KvCacheFormat::kFp8});
  config.erase("version");
  EXPECT_EQ(config, Json::parse(R"({
    "quant_method":"compressed-tensors","format":"nvfp4-pack-quantized",
    "quantization_status":"compressed","global_compression_ratio":null,
    "config_groups":{"group_0":{
      "targets":["Linear"],
      "weights":{"num_bits":4,"type":"float","symmetric":true,"strategy":"tensor_group",
                 "group_size":16,"dynamic":false,"scale_dtype":"torch.float8_e4m3fn"},
      "input_activations":{"num_bits":4,"type":"float","symmetric":true,
                 "strategy":"tensor_group","group_size":16,"dynamic":"local",
                 "scale_dtype":"torch.float8_e4m3fn"},
      "output_activations":null,"format":"nvfp4-pack-quantized"}},
    "ignore":["lm_head","model.layers.0.mlp.gate"],
    "kv_cache_scheme":{"num_bits":8,"type":"float","symmetric":true,"strategy":"tensor",
                       "group_size":null,"dynamic":false}})"));
  EXPECT_TRUE(dialect.extra_files({std::span(&module, 1), left}).empty());
}

// Our group of each scheme beside the one that the library writes for it (and so accepts).
TEST(CompressedTensorsTest, GroupsAreThoseOfTheLibrary) {
  const Json library = read_json_file(
      std::string(HONE_SOURCE_DIR) + "/tests/golden/compressed_tensors/configs.json"
  );
  ASSERT_EQ(library.size(), 12U);
  for (const Format format : all_formats()) {
    for (const ActivationRule rule :
         {ActivationRule::kNone,
          ActivationRule::kFp8Group128,
          ActivationRule::kNvfp4,
          ActivationRule::kFp8Token,
          ActivationRule::kFp8Tensor,
          ActivationRule::kMxfp4,
          ActivationRule::kMxfp8}) {
      const std::string name =
          std::string(format_name(format)) + " " + std::string(activation_rule_name(rule));
      if (!library.contains(name)) continue;
      const QuantizedModule module = described(format, rule);
      Json ours = CompressedTensorsDialect().quantization_config({std::span(&module, 1), {}});
      Json group = ours["config_groups"]["group_0"];
      group.erase("targets");
      Json expected = library[name];
      // Which observer measured the values does not matter to readers.
      for (const char* part : {"weights", "input_activations"}) {
        if (expected[part].is_object()) expected[part].erase("observer");
      }
      EXPECT_TRUE(json_equal(group, expected)) << name << " " << dump_json(group);
      EXPECT_EQ(ours["format"], expected["format"]) << name;
    }
  }
}

TEST(CompressedTensorsTest, SeveralSchemesHaveExactTargets) {
  const CompressedTensorsDialect dialect;
  const std::vector<QuantizedModule> modules = {
      described(Format::kFp8Channel, ActivationRule::kFp8Token, "b"),
      described(Format::kNvfp4, ActivationRule::kNone, "c"),
      described(Format::kFp8Channel, ActivationRule::kFp8Token, "a")};
  const Json config = dialect.quantization_config({modules, {}});
  EXPECT_EQ(config["format"], "mixed-precision");
  EXPECT_EQ(config["config_groups"]["group_0"]["targets"], Json({"a", "b"}));
  EXPECT_EQ(config["config_groups"]["group_0"]["format"], "float-quantized");
  EXPECT_EQ(config["config_groups"]["group_1"]["targets"], Json({"c"}));
  EXPECT_EQ(config["config_groups"]["group_1"]["format"], "nvfp4-pack-quantized");
}

TEST(CompressedTensorsTest, MixedFoldersRoundTrip) {
  TempFolder folder;
  const std::vector<NamedModule> modules = {
      encoded("a", Format::kBlockFp8, ActivationRule::kFp8Group128, 130, 64),
      encoded("b", Format::kNvfp4, ActivationRule::kNvfp4, 8, 64),
      encoded("c", Format::kNvfp4, ActivationRule::kNone, 8, 64),
      encoded("d", Format::kMxfp8, ActivationRule::kMxfp8, 8, 64)};
  const CompressedTensorsDialect dialect;
  write_with(dialect, folder.path(), modules, {"lm_head"}, KvCacheFormat::kFp8);
  const auto checkpoint = Checkpoint::open(folder.path());
  EXPECT_EQ(dialect.kv_cache(*checkpoint), KvCacheFormat::kFp8);
  EXPECT_THAT(dialect.modules(*checkpoint), ElementsAre("a", "b", "c", "d"));
  for (const NamedModule& module : modules) {
    const QuantizedTensor read = dialect.read(*checkpoint, module.name);
    EXPECT_EQ(read.format, module.tensor.format) << module.name;
    EXPECT_EQ(read.activation, module.tensor.activation) << module.name;
    EXPECT_TRUE(same_bytes(read.codes, module.tensor.codes)) << module.name;
  }
}

// ---- targets

class CompressedTensorsTargets : public testing::Test {
 protected:
  CompressedTensorsTargets() {
    for (const char* module : {"model.layers.0.mlp.up_proj", "model.layers.1.mlp.up_proj"}) {
      const NamedModule m = encoded(module, Format::kFp8Channel, ActivationRule::kFp8Token, 4, 16);
      tensors_[m.name + ".weight"] = m.tensor.codes;
      tensors_[m.name + ".weight_scale"] = m.tensor.block_scales;
    }
  }
  std::string complaint(const Json& config) {
    const auto checkpoint = checkpoint_of(folder_.path(), tensors_, config);
    return message_of<DataError>([&] { modules_ = CompressedTensorsDialect().modules(*checkpoint); }
    );
  }
  ActivationRule rule_of(const Json& config, const std::string& module) {
    const auto checkpoint = checkpoint_of(folder_.path(), tensors_, config);
    return CompressedTensorsDialect().read(*checkpoint, module).activation;
  }
  TempFolder folder_;
  std::map<std::string, Tensor> tensors_;
  std::vector<std::string> modules_;
};

TEST_F(CompressedTensorsTargets, ExpressionsMatchFromTheStartOnly) {
  EXPECT_EQ(complaint(config_with({{"g", group({"re:model.*up_proj"}, kChannel, kToken)}})), "");
  EXPECT_EQ(modules_.size(), 2U);
  // re.match is not anchored at the end ...
  EXPECT_EQ(complaint(config_with({{"g", group({"re:model"}, kChannel, kToken)}})), "");
  // ... but at the start.
  EXPECT_THAT(
      complaint(config_with({{"g", group({"re:up_proj"}, kChannel, kToken)}})),
      AllOf(HasSubstr("model.layers.0.mlp.up_proj"), HasSubstr("no target matches it"))
  );
  EXPECT_THAT(
      complaint(config_with({{"g", group({"re:("}, kChannel, kToken)}})),
      AllOf(HasSubstr("config_groups.g"), HasSubstr("re:("))
  );
}

TEST_F(CompressedTensorsTargets, ExactNamesWinOverExpressionsAndThoseOverClasses) {
  const Json config = config_with(
      {{"class", group({"Linear"}, kChannel)},
       {"pattern", group({"re:.*layers.0.*", "re:.*layers.1.*"}, kChannel, kToken)},
       {"exact", group({"model.layers.1.mlp.up_proj"}, kChannel)}}
  );
  EXPECT_EQ(rule_of(config, "model.layers.0.mlp.up_proj"), ActivationRule::kFp8Token);
  EXPECT_EQ(rule_of(config, "model.layers.1.mlp.up_proj"), ActivationRule::kNone);
}

TEST_F(CompressedTensorsTargets, AGroupWhoseTensorsFitIsPreferred) {
  const Json config = config_with(
      {{"four", group({"re:model.*"}, kNvfp4)}, {"eight", group({"re:model.*"}, kChannel, kToken)}}
  );
  EXPECT_EQ(rule_of(config, "model.layers.0.mlp.up_proj"), ActivationRule::kFp8Token);
}

TEST_F(CompressedTensorsTargets, ContradictionsAreNamed) {
  EXPECT_THAT(
      complaint(config_with({{"g", group({"Linear"}, kNvfp4)}})),
      AllOf(HasSubstr("config group g"), HasSubstr("is nvfp4"), HasSubstr("F32 [4, 1]"))
  );
  EXPECT_THAT(
      complaint(config_with({{"g", group({"Linear"}, kChannel)}}, {"re:.*layers.1", "lm_head"})),
      AllOf(HasSubstr("model.layers.1.mlp.up_proj"), HasSubstr("\"ignore\" lists it"))
  );
}

TEST_F(CompressedTensorsTargets, UnreadableConfigsAreNamed) {
  const Json int4 = {{"num_bits", 4}, {"type", "int"}, {"strategy", "group"}, {"group_size", 32}};
  EXPECT_THAT(
      complaint(config_with({{"g", group({"Linear"}, int4)}})),
      AllOf(HasSubstr("config_groups.g.weights"), HasSubstr("\"type\":\"int\""))
  );
  EXPECT_THAT(
      complaint(config_with({{"g", group({"Linear"}, kChannel, int4)}})),
      HasSubstr("config_groups.g.input_activations")
  );
  Json outputs = group({"Linear"}, kChannel);
  outputs["output_activations"] = kToken;
  EXPECT_THAT(complaint(config_with({{"g", outputs}})), HasSubstr("output_activations"));
  Json transformed = config_with({{"g", group({"Linear"}, kChannel)}});
  transformed["transform_config"] = {{"config_groups", {{"u", 1}}}};
  EXPECT_THAT(complaint(transformed), HasSubstr("transform_config"));
  transformed["transform_config"] = Json::object();
  transformed["sparsity_config"] = {{"format", "dense"}};
  EXPECT_EQ(complaint(transformed), "");
  transformed["kv_cache_scheme"] = {{"num_bits", 8}, {"type", "int"}};
  EXPECT_THAT(complaint(transformed), HasSubstr("kv_cache_scheme"));
  EXPECT_THAT(
      complaint({{"quant_method", "compressed-tensors"}}), HasSubstr("no object \"config_groups\"")
  );
}

// ---- tensors

class CompressedTensorsParts : public testing::Test {
 protected:
  CompressedTensorsParts() {
    Tensor scale(DType::kF32, {1});
    scale.as<float>()[0] = 448.0F;
    tensors_ = {
        {"x.weight_packed", Tensor(DType::kU8, {3, 16})},
        {"x.weight_scale", Tensor(DType::kF8E4M3, {3, 2})},
        {"x.weight_global_scale", scale},
        {"x.input_global_scale", scale.clone()}};
  }
  std::string complaint() {
    const Json local = {
        {"num_bits", 4},
        {"type", "float"},
        {"strategy", "tensor_group"},
        {"group_size", 16},
        {"dynamic", "local"}};
    const auto checkpoint = checkpoint_of(
        folder_.path(), tensors_, config_with({{"g", group({"Linear"}, kNvfp4, local)}})
    );
    return message_of<DataError>([&] {
      const CompressedTensorsDialect dialect;
      for (const std::string& module : dialect.modules(*checkpoint))
        (void)dialect.read(*checkpoint, module);
    });
  }
  TempFolder folder_;
  std::map<std::string, Tensor> tensors_;
};

TEST_F(CompressedTensorsParts, EachMissingPartIsNamed) {
  EXPECT_EQ(complaint(), "");
  for (const char* part :
       {"x.weight_scale", "x.weight_global_scale", "x.input_global_scale", "x.weight_packed"}) {
    const Tensor kept = tensors_.at(part);
    tensors_.erase(part);
    EXPECT_THAT(complaint(), HasSubstr(std::string("has no \"") + part + "\"")) << part;
    tensors_[part] = kept;
  }
}

TEST_F(CompressedTensorsParts, ScalarsMustBePositiveAndFinite) {
  for (const char* part : {"x.weight_global_scale", "x.input_global_scale"}) {
    for (const float bad : {0.0F, -1.0F, INFINITY, NAN}) {
      tensors_.at(part).as<float>()[0] = bad;
      EXPECT_THAT(complaint(), AllOf(HasSubstr(part), HasSubstr("positive and finite"))) << bad;
    }
    tensors_.at(part).as<float>()[0] = 1.0F;
  }
}

TEST_F(CompressedTensorsParts, WrongShapesAndTypesAreNamed) {
  tensors_["x.weight_scale"] = Tensor(DType::kF8E4M3, {3, 1});
  EXPECT_THAT(complaint(), HasSubstr("block scales are F8_E4M3 [3, 1], expected F8_E4M3 [3, 2]"));
  tensors_["x.weight_scale"] = Tensor(DType::kBF16, {3, 2});
  EXPECT_THAT(complaint(), HasSubstr("weight_scale is BF16 [3, 2]"));
  tensors_["x.weight_scale"] = Tensor(DType::kF8E4M3, {3, 2});
  tensors_["x.weight_packed"] = Tensor(DType::kI32, {3, 4});
  EXPECT_THAT(complaint(), HasSubstr("codes are I32, expected U8"));
  tensors_["x.weight_packed"] = Tensor(DType::kU8, {48});
  EXPECT_THAT(complaint(), HasSubstr("rank 2"));
}

TEST(CompressedTensorsTest, ScalesInTheModelsTypeAreReadExactly) {
  TempFolder folder;
  const float values[] = {0.25F, 1.5F};
  Tensor scales(DType::kBF16, {2, 1});
  store_floats(DType::kBF16, values, 2, scales.bytes());
  const Tensor codes(DType::kF8E4M3, {2, 16});
  const Json config = config_with({{"g", group({"Linear"}, kChannel, kToken)}});
  const auto checkpoint =
      checkpoint_of(folder.path(), {{"x.weight", codes}, {"x.weight_scale", scales}}, config);
  const QuantizedTensor read = CompressedTensorsDialect().read(*checkpoint, "x");
  EXPECT_EQ(read.block_scales.shape(), (Shape{2, 1}));
  EXPECT_THAT(read.block_scales.as<float>(), ElementsAre(0.25F, 1.5F));
  // A vector is as good as a column.
  const auto flat = checkpoint_of(
      folder.path(), {{"x.weight", codes}, {"x.weight_scale", Tensor(DType::kF32, {2})}}, config
  );
  EXPECT_EQ(CompressedTensorsDialect().read(*flat, "x").block_scales.shape(), (Shape{2, 1}));
}

TEST(CompressedTensorsTest, AChannelOfZeroScaleMustBeZero) {
  TempFolder folder;
  Tensor codes(DType::kF8E4M3, {2, 16});
  codes.bytes()[20] = std::byte{0x38};
  const Json config = config_with({{"g", group({"Linear"}, kChannel, kToken)}});
  const auto checkpoint = checkpoint_of(
      folder.path(), {{"x.weight", codes}, {"x.weight_scale", Tensor(DType::kF32, {2, 1})}}, config
  );
  EXPECT_THAT(
      message_of<DataError>([&] { (void)CompressedTensorsDialect().read(*checkpoint, "x"); }),
      HasSubstr("block scale [1, 0] is 0")
  );
}

// Kimi-K2 Thinking and K3 put the section in text_config and leave most fields out.
TEST(CompressedTensorsTest, ARealConfigOfMxfp4Experts) {
  TempFolder folder;
  const NamedModule m = encoded(
      "language_model.model.layers.1.mlp.experts.0.up_proj",
      Format::kMxfp4,
      ActivationRule::kNone,
      4,
      64
  );
  write_safetensors(
      folder / "model.safetensors",
      {{m.name + ".weight_packed", m.tensor.codes},
       {m.name + ".weight_scale", m.tensor.block_scales}}
  );
  write_bytes(folder / "config.json", R"({"text_config":{"quantization_config":{
    "config_groups":{"group_0":{"format":"mxfp4-pack-quantized","input_activations":null,
      "output_activations":null,"targets":["Linear"],"weights":{"actorder":null,
      "block_structure":null,"dynamic":false,"group_size":32,"num_bits":4,"observer":"minmax",
      "observer_kwargs":{},"scale_dtype":"torch.uint8","strategy":"group","symmetric":true,
      "type":"float","zp_dtype":null}}},
    "format":"mxfp4-pack-quantized","global_compression_ratio":null,
    "ignore":["re:.*self_attn.*","re:.*shared_experts.*",
              "re:.*mlp\\.(gate|up|gate_up|down)_proj.*"],
    "kv_cache_scheme":null,"quant_method":"compressed-tensors",
    "quantization_status":"compressed"}}})");
  const auto checkpoint = Checkpoint::open(folder.path());
  const Dialect* dialect = detect_dialect(*checkpoint);
  ASSERT_NE(dialect, nullptr);
  EXPECT_THAT(dialect->modules(*checkpoint), ElementsAre(m.name));
  const QuantizedTensor read = dialect->read(*checkpoint, m.name);
  EXPECT_TRUE(same_bytes(read.codes, m.tensor.codes));
  EXPECT_TRUE(same_bytes(read.block_scales, m.tensor.block_scales));
}

}  // namespace
}  // namespace hone
