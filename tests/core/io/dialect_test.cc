#include "core/io/dialect.h"

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
  EXPECT_THAT(
      message_of<UsageError>([] { (void)dialect_by_name("gguf"); }),
      AllOf(HasSubstr("gguf"), HasSubstr("fp8, modelopt"))
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
      {{"quant_method", "fp8"}},  // per tensor
      {{"quant_method", "modelopt"}, {"quant_algo", "FP8"}},
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
    TempFolder folder;
    const Format format = writer->name() == "fp8" ? Format::kBlockFp8 : Format::kNvfp4;
    const QuantizedModule module{.module = "m", .format = format, .rows = 128, .cols = 128};
    const auto checkpoint =
        with_config(folder, writer->quantization_config(std::span(&module, 1), {}));
    for (const Dialect* reader : dialects())
      EXPECT_EQ(reader->matches(*checkpoint), reader == writer);
  }
}

}  // namespace
}  // namespace hone
