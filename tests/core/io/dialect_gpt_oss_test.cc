#include "core/io/dialect_gpt_oss.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/io/quantized_checkpoint.h"

namespace hone {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Json kConfig = Json::parse(
    R"({"quant_method":"mxfp4","modules_to_not_convert":["model.layers.*.self_attn","lm_head"]})"
);
constexpr const char* kModule = "model.layers.0.mlp.experts.gate_up_proj";

class GptOss : public testing::Test {
 protected:
  // Two experts of three rows and 64 columns.
  GptOss() {
    Tensor blocks(DType::kU8, {2, 3, 2, 16});
    for (int64_t i = 0; i < blocks.numel(); ++i)
      blocks.bytes()[i] = static_cast<std::byte>(i * 37 % 256);
    Tensor scales(DType::kU8, {2, 3, 2});
    for (int64_t i = 0; i < scales.numel(); ++i)
      scales.bytes()[i] = static_cast<std::byte>(120 + i);
    tensors_ = {
        {std::string(kModule) + "_blocks", blocks},
        {std::string(kModule) + "_scales", scales},
        {std::string(kModule) + "_bias", Tensor(DType::kBF16, {2, 3})}};
  }
  std::shared_ptr<const Checkpoint> checkpoint() {
    return checkpoint_of(folder_.path(), tensors_, kConfig);
  }
  std::string complaint() {
    const auto opened = checkpoint();
    return message_of<DataError>([&] {
      const GptOssDialect dialect;
      for (const std::string& module : dialect.modules(*opened))
        (void)dialect.read(*opened, module);
    });
  }
  TempFolder folder_;
  std::map<std::string, Tensor> tensors_;
};

TEST_F(GptOss, StacksTheExpertsInRows) {
  const auto opened = checkpoint();
  const Dialect* dialect = detect_dialect(*opened);
  ASSERT_NE(dialect, nullptr);
  EXPECT_EQ(dialect->name(), "mxfp4");
  EXPECT_THAT(dialect->modules(*opened), ElementsAre(kModule));
  const QuantizedTensor read = dialect->read(*opened, kModule);
  EXPECT_EQ(read.format, Format::kMxfp4);
  EXPECT_EQ(read.rows, 6);
  EXPECT_EQ(read.cols, 64);
  // Row 4 is row 1 of expert 1: byte b of its block j holds columns 32 j + 2 b and the next.
  std::vector<float> row(64);
  dequantize_rows(read, 4, 1, row.data());
  const float values[] = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6, -0.0F, -0.5F, -1, -1.5F, -2, -3, -4, -6};
  for (int64_t j = 0; j < 64; ++j) {
    const int byte = static_cast<int>((4 * 32 + j / 2) * 37 % 256);
    const int code = j % 2 == 0 ? byte & 15 : byte >> 4;
    const int exponent = 120 + static_cast<int>(4 * 2 + j / 32) - 127;
    EXPECT_EQ(row[static_cast<size_t>(j)], std::ldexp(values[code], exponent)) << j;
  }
}

TEST_F(GptOss, MissingAndMisshapenPartsAreNamed) {
  EXPECT_EQ(complaint(), "");
  const std::string blocks = std::string(kModule) + "_blocks";
  const std::string scales = std::string(kModule) + "_scales";
  const Tensor kept = tensors_.at(scales);
  tensors_.erase(scales);
  EXPECT_THAT(complaint(), HasSubstr("has no \"" + scales + "\""));
  tensors_[scales] = Tensor(DType::kU8, {2, 3, 1});
  EXPECT_THAT(complaint(), HasSubstr("expected [2, 3, 2], found [2, 3, 1]"));
  tensors_[scales] = Tensor(DType::kF32, {2, 3, 2});
  EXPECT_THAT(complaint(), HasSubstr("block scales are F32"));
  tensors_[scales] = kept;
  tensors_[blocks] = Tensor(DType::kU8, {2, 3, 32});
  EXPECT_THAT(complaint(), HasSubstr("expected U8 [experts, rows, columns / 32, 16]"));
  tensors_.erase(blocks);
  EXPECT_THAT(complaint(), HasSubstr("has no \"" + blocks + "\""));
}

TEST_F(GptOss, NothingIsWritten) {
  const GptOssDialect dialect;
  const QuantizedModule module{.module = "m", .format = Format::kMxfp4, .rows = 2, .cols = 32};
  EXPECT_THAT(*dialect.refuses(module), HasSubstr("read only"));
  EXPECT_THROW((void)dialect.quantization_config({std::span(&module, 1), {}}), UsageError);
  EXPECT_THROW((void)dialect.extra_files({std::span(&module, 1), {}}), UsageError);
}

}  // namespace
}  // namespace hone
