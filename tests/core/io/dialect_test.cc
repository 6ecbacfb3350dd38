#include "core/io/dialect.h"

#include <algorithm>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/io/quantized_checkpoint.h"

namespace hone {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::shared_ptr<const Checkpoint> with_config(const TempFolder& folder, const Json& quantization) {
  return checkpoint_of(folder.path(), {{"x", Tensor(DType::kU8, {1})}}, quantization);
}

TEST(DialectTest, ByName) {
  EXPECT_EQ(dialect_by_name("fp8").name(), "fp8");
  EXPECT_EQ(dialect_by_name("modelopt").name(), "modelopt");
  EXPECT_EQ(dialect_by_name("compressed-tensors").name(), "compressed-tensors");
  EXPECT_THAT(
      message_of<UsageError>([] { (void)dialect_by_name("gguf"); }),
      AllOf(HasSubstr("gguf"), HasSubstr("fp8, compressed-tensors, modelopt, mxfp4"))
  );
}

TEST(DialectTest, UnquantizedCheckpointsHaveNone) {
  TempFolder folder;
  EXPECT_EQ(detect_dialect(*with_config(folder, nullptr)), nullptr);
  write_bytes(folder / "config.json", "{}");
  EXPECT_EQ(detect_dialect(*Checkpoint::open(folder.path())), nullptr);
}

TEST(DialectTest, UnknownQuantizationsAreNamedNotGuessed) {
  TempFolder folder;
  const Json configs[] = {
      {{"quant_method", "awq"}, {"bits", 4}},
      {{"quant_method", "fp8"}, {"quant_algo", "MIXED_PRECISION"}},  // two dialects in one folder
      {{"quant_method", 7}},
      Json::object(),
      "fp8",
  };
  for (const Json& config : configs) {
    const auto checkpoint = with_config(folder, config);
    EXPECT_THAT(
        message_of<DataError>([&] { (void)detect_dialect(*checkpoint); }),
        AllOf(HasSubstr("config.json"), HasSubstr("quantization_config"))
    ) << dump_json(config);
  }
  const auto awq = with_config(folder, configs[0]);
  EXPECT_THAT(message_of<DataError>([&] { (void)detect_dialect(*awq); }), HasSubstr("awq"));
}

TEST(DialectTest, EveryDialectReadsItsOwnConfigOnly) {
  for (const Dialect* writer : dialects()) {
    if (writer->name() == "mxfp4") continue;  // writes nothing
    TempFolder folder;
    const bool fp8 = writer->name() == "fp8";
    const QuantizedModule module{
        .module = "m",
        .format = fp8 ? Format::kBlockFp8 : Format::kNvfp4,
        .activation = fp8 ? ActivationRule::kFp8Group128 : ActivationRule::kNone,
        .rows = 128,
        .cols = 128};
    const auto checkpoint =
        with_config(folder, writer->quantization_config({std::span(&module, 1), {}}));
    for (const Dialect* reader : dialects())
      EXPECT_EQ(reader->matches(*checkpoint), reader == writer);
  }
}

TEST(DialectTest, TheConfigOfATextPartCounts) {
  TempFolder folder;
  (void)with_config(folder, nullptr);
  write_bytes(
      folder / "config.json",
      R"({"text_config":{"quantization_config":{"quant_method":"fp8","weight_block_size":[128,128]}}})"
  );
  const Dialect* dialect = detect_dialect(*Checkpoint::open(folder.path()));
  ASSERT_NE(dialect, nullptr);
  EXPECT_EQ(dialect->name(), "fp8");
}

// ---- every dialect, every scheme it has a name for

struct Written {
  std::string dialect;
  Format format;
  ActivationRule activation;
};

std::vector<Written> everything_written() {
  std::vector<Written> all;
  for (const Dialect* dialect : dialects()) {
    for (const Format format : all_formats()) {
      for (const ActivationRule rule :
           {ActivationRule::kNone,
            ActivationRule::kFp8Group128,
            ActivationRule::kNvfp4,
            ActivationRule::kFp8Token,
            ActivationRule::kFp8Tensor,
            ActivationRule::kMxfp4,
            ActivationRule::kMxfp8}) {
        const QuantizedModule module{
            .module = "m", .format = format, .activation = rule, .rows = 256, .cols = 256};
        if (!dialect->refuses(module)) all.push_back({std::string(dialect->name()), format, rule});
      }
    }
  }
  return all;
}

// Same bytes, same numbers; a scalar may come back with the other direction.
void expect_equal(const QuantizedTensor& read, const QuantizedTensor& written) {
  EXPECT_EQ(read.format, written.format);
  EXPECT_EQ(read.activation, written.activation);
  EXPECT_EQ(read.rows, written.rows);
  EXPECT_EQ(read.cols, written.cols);
  EXPECT_TRUE(same_bytes(read.codes, written.codes));
  EXPECT_EQ(read.block_scales.empty(), written.block_scales.empty());
  if (!written.block_scales.empty()) {
    EXPECT_TRUE(same_bytes(read.block_scales, written.block_scales));
  }
  EXPECT_EQ(read.global.multiplier(), written.global.multiplier());
  EXPECT_EQ(read.global.reciprocal(), written.global.reciprocal());
  ASSERT_EQ(read.input_scale.has_value(), written.input_scale.has_value());
  if (written.input_scale) {
    EXPECT_EQ(read.input_scale->multiplier(), written.input_scale->multiplier());
  }
}

class DialectRoundTrip : public testing::TestWithParam<Written> {};

TEST_P(DialectRoundTrip, ReadsWhatItWrote) {
  const Written& p = GetParam();
  const Dialect& dialect = dialect_by_name(p.dialect);
  TempFolder folder;
  const std::vector<NamedModule> modules = {
      encoded("model.layers.0.mlp.down_proj", p.format, p.activation, 256, 128),
      encoded("model.layers.1.mlp.down_proj", p.format, p.activation, 128, 256)};
  write_with(dialect, folder.path(), modules, {"lm_head"});
  const auto checkpoint = Checkpoint::open(folder.path());
  EXPECT_EQ(detect_dialect(*checkpoint), &dialect);
  ASSERT_EQ(dialect.modules(*checkpoint).size(), 2U);
  EXPECT_EQ(dialect.kv_cache(*checkpoint), KvCacheFormat::kNone);
  for (const NamedModule& module : modules)
    expect_equal(dialect.read(*checkpoint, module.name), module.tensor);
}

INSTANTIATE_TEST_SUITE_P(
    Schemes,
    DialectRoundTrip,
    testing::ValuesIn(everything_written()),
    [](const testing::TestParamInfo<Written>& written) {
      std::string name = written.param.dialect + "_" +
                         std::string(format_name(written.param.format)) + "_" +
                         std::string(activation_rule_name(written.param.activation));
      std::ranges::replace(name, '-', '_');
      return name;
    }
);

TEST(DialectTest, TheSchemesOfEveryDialect) {
  std::map<std::string, int> count;
  for (const Written& written : everything_written()) ++count[written.dialect];
  EXPECT_EQ(
      count, (std::map<std::string, int>{{"compressed-tensors", 14}, {"fp8", 3}, {"modelopt", 6}})
  );
}

}  // namespace
}  // namespace hone
