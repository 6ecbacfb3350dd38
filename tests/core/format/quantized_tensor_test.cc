#include "core/format/quantized_tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/format/block_fp8.h"
#include "core/format/fp8_scaled.h"
#include "core/format/mx.h"
#include "core/format/nvfp4.h"
#include "tests/core/format/matrix_data.h"

namespace hone {
namespace {

using testing::HasSubstr;

std::string complaint(const QuantizedTensor& tensor) {
  try {
    tensor.validate("layer.7");
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

class QuantizedTensorTest : public testing::Test {
 protected:
  ThreadPool pool_{1};
  QuantizedTensor fp8_ =
      quantize_block_fp8(random_matrix(DType::kF32, 130, 200, 1).view(), {}, "w", pool_);
  QuantizedTensor fp4_ =
      quantize_nvfp4(random_matrix(DType::kF32, 6, 64, 1).view(), 0.5F, "w", pool_);
};

TEST_F(QuantizedTensorTest, WhatTheCodecsMakeIsValid) {
  EXPECT_EQ(complaint(fp8_), "");
  EXPECT_EQ(complaint(fp4_), "");
  EXPECT_EQ(fp8_.stored_bytes(), 130 * 200 + 2 * 2 * 4);
  EXPECT_EQ(fp4_.stored_bytes(), 6 * 32 + 6 * 4 + 4);
  fp4_.activation = ActivationRule::kNvfp4;
  EXPECT_THAT(complaint(fp4_), HasSubstr("layer.7: nvfp4 activations need an input scale"));
  fp4_.input_scale = GlobalScale{0.25F, false};
  EXPECT_EQ(complaint(fp4_), "");
  EXPECT_EQ(fp4_.stored_bytes(), 6 * 32 + 6 * 4 + 8);
}

TEST_F(QuantizedTensorTest, ContradictionsAreNamed) {
  QuantizedTensor wrong = fp8_;
  wrong.block_scales = Tensor(DType::kF32, {2, 3});
  EXPECT_THAT(complaint(wrong), HasSubstr("block scales are F32 [2, 3], expected F32 [2, 2]"));
  wrong = fp8_;
  wrong.codes = Tensor(DType::kU8, {130, 200});
  EXPECT_THAT(complaint(wrong), HasSubstr("codes are U8"));
  wrong = fp8_;
  wrong.codes = Tensor();
  EXPECT_THAT(complaint(wrong), HasSubstr("codes are missing"));
  wrong = fp4_;
  wrong.cols = 72;
  EXPECT_THAT(complaint(wrong), HasSubstr("multiple of 16"));
  for (const float g : {0.0F, -1.0F, INFINITY, NAN}) {
    wrong = fp4_;
    wrong.global.value = g;
    EXPECT_THAT(complaint(wrong), HasSubstr("global scale"));
  }
}

TEST_F(QuantizedTensorTest, FormatsWithOtherScalesAreValid) {
  const Tensor matrix = random_matrix(DType::kF32, 6, 64, 2);
  QuantizedTensor channel = quantize_fp8_channel(matrix.view(), "w", pool_);
  EXPECT_EQ(complaint(channel), "");
  EXPECT_EQ(channel.stored_bytes(), 6 * 64 + 6 * 4);
  channel.block_scales = Tensor(DType::kF32, {6});
  EXPECT_THAT(complaint(channel), HasSubstr("block scales are F32 [6], expected F32 [6, 1]"));

  QuantizedTensor whole = quantize_fp8_tensor(matrix.view(), 0.5F, "w", pool_);
  EXPECT_EQ(complaint(whole), "");
  EXPECT_EQ(whole.stored_bytes(), 6 * 64 + 4);
  whole.activation = ActivationRule::kFp8Tensor;
  EXPECT_THAT(complaint(whole), HasSubstr("fp8-tensor activations need an input scale"));
  whole.input_scale = GlobalScale{-1.0F, false};
  EXPECT_THAT(complaint(whole), HasSubstr("input scale is -1"));
  whole.input_scale = GlobalScale{0.5F, false};
  EXPECT_EQ(complaint(whole), "");
  EXPECT_EQ(whole.stored_bytes(), 6 * 64 + 8);
  whole.block_scales = Tensor(DType::kF32, {6, 1});
  EXPECT_THAT(complaint(whole), HasSubstr("there are block scales [6, 1]"));

  for (const Format format : {Format::kMxfp4, Format::kMxfp8}) {
    QuantizedTensor mx = quantize_mx(matrix.view(), {.format = format}, "w", pool_);
    EXPECT_EQ(complaint(mx), "");
    EXPECT_EQ(mx.stored_bytes(), (format == Format::kMxfp4 ? 6 * 32 : 6 * 64) + 6 * 2);
    mx.block_scales = Tensor(DType::kU8, {6, 2});
    EXPECT_THAT(complaint(mx), HasSubstr("block scales are U8 [6, 2], expected F8_E8M0 [6, 2]"));
    mx.cols = 48;
    EXPECT_THAT(complaint(mx), HasSubstr("needs a multiple of 32"));
  }
}

TEST_F(QuantizedTensorTest, ScalarsKeepTheirDirection) {
  const GlobalScale multiplier{0.25F, false};
  const GlobalScale divisor{448.0F, true};
  EXPECT_EQ(multiplier.multiplier(), 0.25F);
  EXPECT_EQ(multiplier.reciprocal(), 4.0F);
  EXPECT_EQ(divisor.multiplier(), 1.0F / 448.0F);
  EXPECT_EQ(divisor.reciprocal(), 448.0F);
}

TEST_F(QuantizedTensorTest, NamesAreStable) {
  EXPECT_EQ(format_name(Format::kBlockFp8), "fp8-block");
  EXPECT_EQ(format_name(Format::kNvfp4), "nvfp4");
  EXPECT_EQ(format_name(Format::kFp8Channel), "fp8-channel");
  EXPECT_EQ(format_name(Format::kFp8Tensor), "fp8-tensor");
  EXPECT_EQ(format_name(Format::kMxfp4), "mxfp4");
  EXPECT_EQ(format_name(Format::kMxfp8), "mxfp8");
  EXPECT_EQ(activation_rule_name(ActivationRule::kNone), "none");
  EXPECT_EQ(activation_rule_name(ActivationRule::kFp8Token), "fp8-token");
  for (const Format format : all_formats()) EXPECT_EQ(parse_format(format_name(format)), format);
  EXPECT_EQ(parse_format("int4"), std::nullopt);
}

}  // namespace
}  // namespace hone
