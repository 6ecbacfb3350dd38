#include "core/format/block_fp8.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/format/e8m0.h"
#include "core/format/fp8.h"
#include "tests/core/format/golden_vectors.h"
#include "tests/core/format/isa_param.h"
#include "tests/core/format/matrix_data.h"

namespace hone {
namespace {

class BlockFp8 : public IsaTest {
 protected:
  ThreadPool pool_{2};
};

std::vector<float> floats_of(const Tensor& tensor) {
  const auto values = tensor.as<float>();
  return {values.begin(), values.end()};
}

TEST_P(BlockFp8, AgreesWithPyTorchOnARaggedWeight) {
  const auto& stored = golden("fp8.weight");
  const TensorView weight{
      DType::kBF16, Shape{130, 272}, reinterpret_cast<const std::byte*>(stored.bytes.data())};
  const QuantizedTensor plain = quantize_block_fp8(weight, {}, "w", pool_);
  EXPECT_EQ(plain.block_scales.shape(), (Shape{2, 3}));
  EXPECT_EQ(floats_of(plain.block_scales), golden_floats("fp8.scales"));
  EXPECT_EQ(bytes_of(plain.codes), golden_bytes("fp8.codes"));
  const QuantizedTensor power = quantize_block_fp8(weight, {Fp8Scale::kPowerOfTwo}, "w", pool_);
  EXPECT_EQ(floats_of(power.block_scales), golden_floats("fp8.scales_power_of_two"));
  EXPECT_EQ(bytes_of(power.codes), golden_bytes("fp8.codes_power_of_two"));
}

TEST_P(BlockFp8, AgreesWithTheNaiveEncoderForEveryTypeAndShape) {
  for (const DType type : {DType::kBF16, DType::kF16, DType::kF32}) {
    for (const auto& [rows, cols] :
         {std::pair(1, 1), {128, 128}, {129, 127}, {5, 2100}, {300, 17}}) {
      const Tensor matrix = random_matrix(type, rows, cols, 5);
      for (const bool power : {false, true}) {
        const BlockFp8Rule rule{power ? Fp8Scale::kPowerOfTwo : Fp8Scale::kAmax};
        const QuantizedTensor got = quantize_block_fp8(matrix.view(), rule, "w", pool_);
        const auto expected = reference::block_fp8(exact_values(matrix), power);
        EXPECT_EQ(floats_of(got.block_scales), expected.scales);
        EXPECT_EQ(bytes_of(got.codes), expected.codes) << dtype_name(type) << rows << "x" << cols;
      }
    }
  }
}

TEST_P(BlockFp8, DecodesEachElementWithOneRounding) {
  const Tensor matrix = random_matrix(DType::kF32, 140, 300, 6);
  const QuantizedTensor tensor = quantize_block_fp8(matrix.view(), {}, "w", pool_);
  const auto scales = floats_of(tensor.block_scales);
  const auto codes = bytes_of(tensor.codes);
  std::vector<float> out(7 * 300);
  dequantize_rows(tensor, 125, 7, out.data());
  for (int64_t r = 0; r < 7; ++r) {
    for (int64_t c = 0; c < 300; ++c) {
      const double code = reference::e4m3_value(codes[(125 + r) * 300 + c]);
      const double scale = scales[(125 + r) / 128 * 3 + c / 128];
      EXPECT_EQ(out[r * 300 + c], static_cast<float>(code * scale));
    }
  }
  EXPECT_THROW(dequantize_rows(tensor, 139, 2, out.data()), UsageError);
}

TEST_P(BlockFp8, ZeroBlocksHaveScaleOneAndKeepSigns) {
  Tensor matrix(DType::kF32, {128, 256});
  matrix.as<float>()[5] = -0.0F;
  matrix.as<float>()[200] = 3.0F;
  const QuantizedTensor tensor = quantize_block_fp8(matrix.view(), {}, "w", pool_);
  EXPECT_EQ(floats_of(tensor.block_scales), (std::vector<float>{1.0F, 3.0F / 448.0F}));
  EXPECT_EQ(bytes_of(tensor.codes)[5], 0x80);
  EXPECT_EQ(bytes_of(tensor.codes)[200], 0x7E);
}

TEST_P(BlockFp8, TinyBlocksKeepANormalScale) {
  Tensor matrix(DType::kF32, {1, 2});
  matrix.as<float>()[0] = 1e-44F;
  const QuantizedTensor tensor = quantize_block_fp8(matrix.view(), {}, "w", pool_);
  EXPECT_EQ(floats_of(tensor.block_scales)[0], 0x1p-126F);
  EXPECT_EQ(block_fp8_scale(1e-44F, {Fp8Scale::kPowerOfTwo}), 0x1p-126F);
}

TEST_P(BlockFp8, LargestFloatDoesNotOverflow) {
  Tensor matrix(DType::kF32, {1, 2});
  matrix.as<float>()[0] = -3.4028235e38F;
  for (const Fp8Scale scale : {Fp8Scale::kAmax, Fp8Scale::kPowerOfTwo}) {
    const QuantizedTensor tensor = quantize_block_fp8(matrix.view(), {scale}, "w", pool_);
    EXPECT_GE(bytes_of(tensor.codes)[0], 0x80 | 0x76);
    EXPECT_LE(bytes_of(tensor.codes)[0], 0xFE);
  }
}

TEST_P(BlockFp8, SlabsAndThreadsDoNotMatter) {
  const Tensor matrix = random_matrix(DType::kBF16, 500, 1500, 7);
  const QuantizedTensor whole = quantize_block_fp8(matrix.view(), {}, "w", pool_);
  for (const int threads : {1, 4}) {
    ThreadPool pool(threads);
    std::vector<uint8_t> codes(500 * 1500);
    std::vector<float> scales(4 * 12);
    for (int64_t row = 0; row < 500; row += 256) {
      const RowSlab slab = RowSlab::of(matrix.view()).slice(row, std::min<int64_t>(256, 500 - row));
      EXPECT_FALSE(block_fp8_encode(
          slab, {}, codes.data() + row * 1500, scales.data() + row / 128 * 12, pool
      ));
    }
    EXPECT_EQ(codes, bytes_of(whole.codes));
    EXPECT_EQ(scales, floats_of(whole.block_scales));
    std::vector<uint8_t> again(codes.size());
    block_fp8_encode_with_scales(RowSlab::of(matrix.view()), scales.data(), again.data(), pool);
    EXPECT_EQ(again, codes);
  }
  EXPECT_THROW(
      block_fp8_encode(RowSlab::of(matrix.view()).slice(1, 5), {}, nullptr, nullptr, pool_),
      UsageError
  );
}

TEST_P(BlockFp8, NanAndInfinityAreReportedWithNameAndPlace) {
  Tensor matrix = random_matrix(DType::kF32, 300, 300, 8);
  matrix.as<float>()[299 * 300 + 1] = NAN;
  matrix.as<float>()[140 * 300 + 290] = INFINITY;
  try {
    (void)quantize_block_fp8(matrix.view(), {}, "model.layers.3.mlp.up_proj.weight", pool_);
    FAIL();
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("model.layers.3.mlp.up_proj.weight"));
    EXPECT_THAT(error.what(), testing::HasSubstr("inf at [140, 290]"));
  }
}

TEST_P(BlockFp8, PowerOfTwoRequantizationIsLosslessOnPowersOfTwo) {
  const Tensor matrix = random_matrix(DType::kBF16, 200, 200, 9);
  const QuantizedTensor power =
      quantize_block_fp8(matrix.view(), {Fp8Scale::kPowerOfTwo}, "w", pool_);
  const QuantizedTensor again = requantize_power_of_two(power, pool_);
  EXPECT_EQ(bytes_of(again.codes), bytes_of(power.codes));
  EXPECT_EQ(floats_of(again.block_scales), floats_of(power.block_scales));
}

TEST_P(BlockFp8, PowerOfTwoRequantizationFollowsTheNaiveOne) {
  const Tensor matrix = random_matrix(DType::kBF16, 200, 200, 10);
  const QuantizedTensor tensor = quantize_block_fp8(matrix.view(), {}, "w", pool_);
  const QuantizedTensor again = requantize_power_of_two(tensor, pool_);
  Tensor values(DType::kF32, {200, 200});
  dequantize_rows(tensor, 0, 200, values.as<float>().data());
  const auto expected = reference::block_fp8(exact_values(values), true);
  EXPECT_EQ(floats_of(again.block_scales), expected.scales);
  EXPECT_EQ(bytes_of(again.codes), expected.codes);
}

TEST_P(BlockFp8, TheAmaxFloorOfDeepGemmApplies) {
  const BlockFp8Rule rule{Fp8Scale::kPowerOfTwo, 1e-4F};
  EXPECT_EQ(block_fp8_scale(0.0F, rule), 0x1p-22F);  // 1e-4 / 448 = 2^-22.1
  EXPECT_EQ(block_fp8_scale(1.0F, rule), block_fp8_scale(1.0F, {Fp8Scale::kPowerOfTwo}));
}

HONE_INSTANTIATE_ISA(BlockFp8);

}  // namespace
}  // namespace hone
