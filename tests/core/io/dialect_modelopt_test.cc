#include "core/io/dialect_modelopt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/threads.h"
#include "tests/core/io/quantized_checkpoint.h"

namespace hone {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

const Json kConfig = {{"quant_method", "modelopt"}, {"quant_algo", "NVFP4"}};
const Json kWeightOnlyConfig = {{"quant_method", "modelopt"}, {"quant_algo", "W4A16_NVFP4"}};

NamedModule module_of(const std::string& name, ActivationRule activation) {
  ThreadPool pool(1);
  const Tensor matrix = ramp(6, 48);
  const float g = nvfp4_global_scale(slab_amax(RowSlab::of(matrix.view()), pool).amax);
  NamedModule module{name, quantize_nvfp4(matrix.view(), g, name, pool)};
  module.tensor.activation = activation;
  if (activation == ActivationRule::kNvfp4) module.tensor.input_scale = GlobalScale{0.125F, false};
  return module;
}

TEST(ModelOptDialectTest, WritesAndReadsBothSchemes) {
  for (const ActivationRule rule : {ActivationRule::kNvfp4, ActivationRule::kNone}) {
    TempFolder folder;
    const std::vector<NamedModule> modules = {module_of("model.layers.1.mlp.down_proj", rule)};
    write_with(ModelOptDialect(), folder.path(), modules, {"lm_head"});
    const auto checkpoint = Checkpoint::open(folder.path());
    const Dialect* dialect = detect_dialect(*checkpoint);
    ASSERT_NE(dialect, nullptr);
    EXPECT_EQ(dialect->name(), "modelopt");
    EXPECT_THAT(dialect->modules(*checkpoint), ElementsAre("model.layers.1.mlp.down_proj"));
    const QuantizedTensor read = dialect->read(*checkpoint, modules[0].name);
    EXPECT_TRUE(same_bytes(read.codes, modules[0].tensor.codes));
    EXPECT_TRUE(same_bytes(read.block_scales, modules[0].tensor.block_scales));
    EXPECT_EQ(read.global.value, modules[0].tensor.global.value);
    EXPECT_FALSE(read.global.divisor);
    EXPECT_EQ(read.activation, rule);
    EXPECT_EQ(read.input_scale.has_value(), rule == ActivationRule::kNvfp4);
    EXPECT_EQ(
        checkpoint->contains("model.layers.1.mlp.down_proj.input_scale"),
        rule == ActivationRule::kNvfp4
    );
    EXPECT_EQ(checkpoint->tensor("model.layers.1.mlp.down_proj.weight_scale_2").shape, Shape{});
  }
}

TEST(ModelOptDialectTest, TheConfigsAreWhatEnginesRead) {
  const ModelOptDialect dialect;
  QuantizedModule module{
      .module = "m",
      .format = Format::kNvfp4,
      .activation = ActivationRule::kNvfp4,
      .rows = 2,
      .cols = 32};
  const std::vector<std::string> left = {"lm_head", "model.layers.0.mlp.gate"};
  Json config = dialect.quantization_config({std::span(&module, 1), left});
  EXPECT_EQ(config["producer"]["name"], "modelopt");
  config.erase("producer");
  EXPECT_EQ(
      config,
      Json::parse(R"({
    "config_groups":{"group_0":{
      "input_activations":{"dynamic":false,"num_bits":4,"type":"float","group_size":16},
      "weights":{"dynamic":false,"num_bits":4,"type":"float","group_size":16},
      "targets":["Linear"]}},
    "ignore":["lm_head","model.layers.0.mlp.gate"],"quant_algo":"NVFP4","quant_method":"modelopt"})"
      )
  );
  const auto files = dialect.extra_files({std::span(&module, 1), left});
  ASSERT_EQ(files.size(), 1U);
  EXPECT_EQ(files[0].first, "hf_quant_config.json");
  EXPECT_EQ(
      files[0].second["quantization"],
      Json::parse(R"({"quant_algo":"NVFP4",
    "kv_cache_quant_algo":null,"group_size":16,"exclude_modules":["lm_head","model.layers.0.mlp.gate"]})"
      )
  );
  module.activation = ActivationRule::kNone;
  config = dialect.quantization_config({std::span(&module, 1), left});
  EXPECT_EQ(config["quant_algo"], "W4A16_NVFP4");
  EXPECT_FALSE(config["config_groups"]["group_0"].contains("input_activations"));
}

TEST(ModelOptDialectTest, TheExclusionListIsNeverEmpty) {
  const ModelOptDialect dialect;
  QuantizedModule module{.module = "m", .format = Format::kNvfp4, .rows = 2, .cols = 32};
  EXPECT_THAT(
      dialect.quantization_config({std::span(&module, 1), {}})["ignore"], ElementsAre("lm_head")
  );
  module.module = "lm_head";
  EXPECT_THAT(
      dialect.extra_files({std::span(&module, 1), {}})[0].second["quantization"]["exclude_modules"],
      ElementsAre("model.embed_tokens")
  );
}

TEST(ModelOptDialectTest, RefusesWhatItCannotSay) {
  const ModelOptDialect dialect;
  QuantizedModule module{
      .module = "m",
      .format = Format::kNvfp4,
      .activation = ActivationRule::kNvfp4,
      .rows = 2,
      .cols = 32};
  EXPECT_FALSE(dialect.refuses(module));
  module.cols = 24;
  EXPECT_THAT(*dialect.refuses(module), HasSubstr("24"));
  module.cols = 32;
  module.activation = ActivationRule::kFp8Group128;
  EXPECT_TRUE(dialect.refuses(module));
  module.format = Format::kBlockFp8;
  EXPECT_TRUE(dialect.refuses(module));
  EXPECT_THROW((void)dialect.quantization_config({std::span(&module, 1), {}}), UsageError);
  EXPECT_THROW((void)dialect.extra_files({}), UsageError);
  module.activation = ActivationRule::kNone;
  EXPECT_THAT(*dialect.refuses(module), HasSubstr("whole blocks of 128x128"));
  module.rows = module.cols = 128;
  EXPECT_FALSE(dialect.refuses(module));
}

TEST(ModelOptDialectTest, NamesAndShapesOfTheFp8Algorithms) {
  const auto scale_of = [](Format format, ActivationRule activation) {
    const QuantizedModule module{
        .module = "m", .format = format, .activation = activation, .rows = 256, .cols = 128};
    const std::vector<DialectPart> parts = ModelOptDialect().parts(module);
    EXPECT_EQ(parts.at(0).spec.name, "m.weight");
    EXPECT_EQ(parts.at(0).spec.type, DType::kF8E4M3);
    EXPECT_EQ(parts.at(1).spec.name, "m.weight_scale");
    EXPECT_EQ(parts.size(), format == Format::kFp8Tensor ? 3U : 2U);
    return std::string(dtype_name(parts.at(1).spec.type)) + " " + parts.at(1).spec.shape.str();
  };
  EXPECT_EQ(scale_of(Format::kFp8Tensor, ActivationRule::kFp8Tensor), "F32 []");
  EXPECT_EQ(scale_of(Format::kFp8Channel, ActivationRule::kFp8Token), "F32 [256]");
  EXPECT_EQ(scale_of(Format::kBlockFp8, ActivationRule::kNone), "F32 [2, 1, 1, 1]");
  EXPECT_EQ(scale_of(Format::kMxfp8, ActivationRule::kMxfp8), "U8 [256, 4]");
}

TEST(ModelOptDialectTest, MixedFoldersNameEveryModule) {
  TempFolder folder;
  const std::vector<NamedModule> modules = {
      encoded("a", Format::kNvfp4, ActivationRule::kNvfp4, 8, 64),
      encoded("b", Format::kFp8Tensor, ActivationRule::kFp8Tensor, 8, 64),
      encoded("c", Format::kNvfp4, ActivationRule::kNone, 8, 64)};
  const ModelOptDialect dialect;
  write_with(dialect, folder.path(), modules, {"lm_head"}, KvCacheFormat::kFp8);
  const auto checkpoint = Checkpoint::open(folder.path());
  const Json file = read_json_file(folder / "hf_quant_config.json");
  EXPECT_EQ(
      file["quantization"],
      Json::parse(R"({"quant_algo":"MIXED_PRECISION","kv_cache_quant_algo":"FP8",
        "exclude_modules":["lm_head"],"quantized_layers":{
          "a":{"quant_algo":"NVFP4","group_size":16},
          "b":{"quant_algo":"FP8"},
          "c":{"quant_algo":"W4A16_NVFP4","group_size":16}}})")
  );
  const Json& section = checkpoint->config().at("quantization_config");
  EXPECT_EQ(section["quantized_layers"], file["quantization"]["quantized_layers"]);
  EXPECT_EQ(section["config_groups"]["group_1"]["targets"], Json::array({"b"}));
  EXPECT_EQ(
      section["kv_cache_scheme"], Json::parse(R"({"dynamic":false,"num_bits":8,"type":"float"})")
  );
  EXPECT_EQ(dialect.kv_cache(*checkpoint), KvCacheFormat::kFp8);
  EXPECT_THAT(dialect.modules(*checkpoint), ElementsAre("a", "b", "c"));
  for (const NamedModule& module : modules) {
    const QuantizedTensor read = dialect.read(*checkpoint, module.name);
    EXPECT_EQ(read.format, module.tensor.format);
    EXPECT_EQ(read.activation, module.tensor.activation);
    EXPECT_EQ(read.global.value, module.tensor.global.value);
  }
}

TEST(ModelOptDialectTest, KvCachesAreCarried) {
  for (const KvCacheFormat format : {KvCacheFormat::kFp8, KvCacheFormat::kNvfp4}) {
    TempFolder folder;
    const NamedModule module = encoded("a", Format::kNvfp4, ActivationRule::kNone, 8, 64);
    write_with(ModelOptDialect(), folder.path(), {module}, {"lm_head"}, format);
    EXPECT_EQ(ModelOptDialect().kv_cache(*Checkpoint::open(folder.path())), format);
    // The section alone says it too.
    std::filesystem::remove(folder / "hf_quant_config.json");
    EXPECT_EQ(ModelOptDialect().kv_cache(*Checkpoint::open(folder.path())), format);
  }
}

class ModelOptParts : public testing::Test {
 protected:
  ModelOptParts() {
    scale_.as<float>()[0] = 0.5F;
    tensors_ = {
        {"x.weight", Tensor(DType::kU8, {3, 16})},
        {"x.weight_scale", Tensor(DType::kF8E4M3, {3, 2})},
        {"x.weight_scale_2", scale_.clone()},
        {"x.input_scale", scale_.clone()}};
  }
  std::string complaint(const Json& config = kConfig) {
    const auto checkpoint = checkpoint_of(folder_.path(), tensors_, config);
    return message_of<DataError>([&] {
      const ModelOptDialect dialect;
      for (const std::string& module : dialect.modules(*checkpoint))
        (void)dialect.read(*checkpoint, module);
    });
  }
  TempFolder folder_;
  Tensor scale_{DType::kF32, {}};
  std::map<std::string, Tensor> tensors_;
};

TEST_F(ModelOptParts, CompleteModulesAreRead) {
  EXPECT_EQ(complaint(), "");
}

TEST_F(ModelOptParts, EachMissingPartIsNamed) {
  for (const char* part : {"x.weight", "x.weight_scale", "x.weight_scale_2", "x.input_scale"}) {
    const Tensor kept = tensors_.at(part);
    tensors_.erase(part);
    EXPECT_THAT(complaint(), HasSubstr(std::string("has no \"") + part + "\"")) << part;
    tensors_[part] = kept;
  }
  tensors_.erase("x.input_scale");
  EXPECT_EQ(complaint(kWeightOnlyConfig), "");
}

TEST_F(ModelOptParts, ScalarsMustBePositiveAndFinite) {
  for (const char* part : {"x.weight_scale_2", "x.input_scale"}) {
    for (const float bad : {0.0F, -1.0F, INFINITY, NAN}) {
      tensors_.at(part).as<float>()[0] = bad;
      EXPECT_THAT(complaint(), AllOf(HasSubstr(part), HasSubstr("positive and finite"))) << bad;
    }
    tensors_.at(part).as<float>()[0] = 0.5F;
  }
  tensors_["x.weight_scale_2"] = Tensor(DType::kF32, {2});
  EXPECT_THAT(complaint(), HasSubstr("expected one F32, found F32 [2]"));
}

TEST_F(ModelOptParts, WrongShapesAreNamed) {
  tensors_["x.weight_scale"] = Tensor(DType::kF8E4M3, {3, 3});
  EXPECT_THAT(complaint(), HasSubstr("block scales are F8_E4M3 [3, 3], expected F8_E4M3 [3, 2]"));
  tensors_["x.weight_scale"] = Tensor(DType::kF8E4M3, {3, 2});
  tensors_["x.weight"] = Tensor(DType::kU8, {3, 10});
  EXPECT_THAT(complaint(), HasSubstr("multiple of 16"));
  tensors_["x.weight"] = Tensor(DType::kU8, {48});
  EXPECT_THAT(complaint(), HasSubstr("rank 2"));
}

TEST_F(ModelOptParts, OneElementScalarsAndUnusedInputScalesAreFine) {
  Tensor one(DType::kF32, {1});
  one.as<float>()[0] = 0.25F;
  tensors_["x.weight_scale_2"] = one;
  EXPECT_EQ(complaint(kWeightOnlyConfig), "");
  const auto checkpoint = Checkpoint::open(folder_.path());
  EXPECT_EQ(ModelOptDialect().read(*checkpoint, "x").activation, ActivationRule::kNone);
}

TEST_F(ModelOptParts, TheSeparateFileCountsAndMustNotContradict) {
  std::filesystem::create_directories(folder_.path());
  write_bytes(
      folder_ / "hf_quant_config.json",
      R"({"producer":{"name":"modelopt"},"quantization":{"quant_algo":"NVFP4"}})"
  );
  EXPECT_EQ(complaint(Json()), "");
  const auto old = Checkpoint::open(folder_.path());
  EXPECT_EQ(detect_dialect(*old)->name(), "modelopt");
  EXPECT_THAT(
      complaint(kWeightOnlyConfig),
      AllOf(HasSubstr("W4A16_NVFP4"), HasSubstr("hf_quant_config.json says \"NVFP4\""))
  );
  write_bytes(folder_ / "hf_quant_config.json", "[]");
  EXPECT_THAT(complaint(), HasSubstr("hf_quant_config.json"));
}

TEST_F(ModelOptParts, UnknownAlgorithmsAreNamed) {
  EXPECT_THAT(
      complaint({{"quant_method", "modelopt"}, {"quant_algo", "W4A8_AWQ"}}),
      AllOf(HasSubstr("W4A8_AWQ"), HasSubstr("NVFP4, W4A16_NVFP4"))
  );
  EXPECT_THAT(
      complaint({{"quant_method", "modelopt"}, {"quant_algo", "NVFP4"}, {"group_size", 32}}),
      HasSubstr("group_size 32")
  );
  EXPECT_THAT(
      complaint({{"quant_method", "modelopt"}, {"quant_algo", "NVFP4"}, {"kv_cache_scheme", "INT8"}}
      ),
      HasSubstr("kv_cache_scheme \"INT8\"")
  );
}

TEST_F(ModelOptParts, OtherSpellingsOfTheBlockAlgorithm) {
  Tensor blocks(DType::kF32, {1, 1, 1, 1});
  blocks.as<float>()[0] = 0.5F;
  tensors_ = {{"x.weight", Tensor(DType::kF8E4M3, {128, 128})}, {"x.weight_scale", blocks}};
  for (const char* algo : {"FP8_PB_WO", "fp8_pb_wo", "FP8_BLOCK_SCALES"}) {
    EXPECT_EQ(complaint({{"quant_method", "modelopt"}, {"quant_algo", algo}}), "") << algo;
    const auto checkpoint = Checkpoint::open(folder_.path());
    const QuantizedTensor read = ModelOptDialect().read(*checkpoint, "x");
    EXPECT_EQ(read.format, Format::kBlockFp8);
    EXPECT_EQ(read.block_scales.shape(), (Shape{1, 1}));
  }
}

// The 32B model of Qwen, exported by version 0.31: no quant_method, an abbreviated KV scheme.
TEST_F(ModelOptParts, OldSectionsHaveNoMethod) {
  tensors_ = {
      {"x.weight", Tensor(DType::kF8E4M3, {3, 16})},
      {"x.weight_scale", scale_.clone()},
      {"x.input_scale", scale_.clone()}};
  const Json config = {
      {"quant_algo", "FP8"},
      {"kv_cache_scheme", "FP8"},
      {"ignore", Json::array({"lm_head"})},
      {"producer", {{"name", "modelopt"}, {"version", "0.31.0"}}}};
  EXPECT_EQ(complaint(config), "");
  const auto checkpoint = Checkpoint::open(folder_.path());
  EXPECT_EQ(detect_dialect(*checkpoint)->name(), "modelopt");
  EXPECT_EQ(ModelOptDialect().kv_cache(*checkpoint), KvCacheFormat::kFp8);
  const QuantizedTensor read = ModelOptDialect().read(*checkpoint, "x");
  EXPECT_EQ(read.format, Format::kFp8Tensor);
  EXPECT_EQ(read.activation, ActivationRule::kFp8Tensor);
  EXPECT_EQ(read.global.value, 0.5F);
}

// Fused experts are one entry of quantized_layers; their tensors are one per expert.
TEST_F(ModelOptParts, EntriesCountForWhatStandsBelowThem) {
  const auto mixed = [](const char* name) {
    return Json{
        {"quant_method", "modelopt"},
        {"quant_algo", "MIXED_PRECISION"},
        {"quantized_layers", {{name, {{"quant_algo", "NVFP4"}, {"group_size", 16}}}}}};
  };
  std::map<std::string, Tensor> experts;
  for (const auto& [name, tensor] : tensors_)
    experts["mlp.experts.3.up_proj" + name.substr(1)] = tensor;
  tensors_ = experts;
  EXPECT_EQ(complaint(mixed("mlp.experts")), "");
  EXPECT_THAT(
      complaint(mixed("mlp.expert")),
      AllOf(HasSubstr("mlp.experts.3.up_proj"), HasSubstr("quantized_layers does not name it"))
  );
  EXPECT_THAT(
      complaint({{"quant_method", "modelopt"}, {"quant_algo", "MIXED_PRECISION"}}),
      HasSubstr("without quantized_layers")
  );
}

}  // namespace
}  // namespace hone
