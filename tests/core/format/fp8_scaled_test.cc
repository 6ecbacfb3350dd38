#include "core/format/fp8_scaled.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/format/fp8.h"
#include "tests/core/format/isa_param.h"
#include "tests/core/format/matrix_data.h"

namespace hone {
namespace {

using testing::HasSubstr;

class Fp8ScaledTest : public IsaTest {
 protected:
  ThreadPool pool_{2};
};

std::vector<float> scales_of(const QuantizedTensor& tensor) {
  const auto scales = tensor.block_scales.as<float>();
  return {scales.begin(), scales.end()};
}

constexpr std::pair<int64_t, int64_t> kSizes[] = {{1, 1}, {3, 17}, {40, 250}, {7, 1024}};

TEST_P(Fp8ScaledTest, ChannelsAgreeWithTheNaiveEncoder) {
  for (const DType type : {DType::kBF16, DType::kF16, DType::kF32}) {
    for (const auto& [rows, cols] : kSizes) {
      const Tensor matrix = random_matrix(type, rows, cols, 31);
      const QuantizedTensor got = quantize_fp8_channel(matrix.view(), "w", pool_);
      const auto expected = reference::scaled_fp8(exact_values(matrix), true);
      EXPECT_EQ(scales_of(got), expected.scales);
      EXPECT_EQ(bytes_of(got.codes), expected.codes) << dtype_name(type) << rows << "x" << cols;
    }
  }
}

TEST_P(Fp8ScaledTest, OneScaleAgreesWithTheNaiveEncoder) {
  for (const auto& [rows, cols] : kSizes) {
    const Tensor matrix = random_matrix(DType::kBF16, rows, cols, 32);
    const float g = fp8_scale(slab_amax(RowSlab::of(matrix.view()), pool_).amax);
    const QuantizedTensor got = quantize_fp8_tensor(matrix.view(), g, "w", pool_);
    const auto expected = reference::scaled_fp8(exact_values(matrix), false);
    EXPECT_EQ(got.global.value, expected.scales[0]);
    EXPECT_FALSE(got.global.divisor);
    EXPECT_EQ(bytes_of(got.codes), expected.codes) << rows << "x" << cols;
  }
}

TEST_P(Fp8ScaledTest, DecodesCodeTimesScale) {
  const Tensor matrix = random_matrix(DType::kF32, 5, 37, 33);
  for (const bool channel : {true, false}) {
    const QuantizedTensor tensor = channel ? quantize_fp8_channel(matrix.view(), "w", pool_)
                                           : quantize_fp8_tensor(matrix.view(), 0.37F, "w", pool_);
    const auto codes = bytes_of(tensor.codes);
    std::vector<float> out(3 * 37);
    dequantize_rows(tensor, 2, 3, out.data());
    for (size_t i = 0; i < out.size(); ++i) {
      const double scale = channel ? scales_of(tensor)[2 + i / 37] : 0.37F;
      const double code = reference::e4m3_value(codes[2 * 37 + i]);
      EXPECT_EQ(out[i], static_cast<float>(code * scale));
    }
  }
}

TEST_P(Fp8ScaledTest, EdgesOfTheRange) {
  Tensor matrix(DType::kF32, {4, 3});
  const float values[] = {0, -0.0F, 0, 1e-42F, -1e-41F, 0, 3.0e38F, 1.0F, -3.0e38F, 448, 464, 1};
  std::copy(values, values + 12, matrix.as<float>().data());
  const QuantizedTensor tensor = quantize_fp8_channel(matrix.view(), "w", pool_);
  const auto expected = reference::scaled_fp8(exact_values(matrix), true);
  EXPECT_EQ(scales_of(tensor), expected.scales);
  EXPECT_EQ(bytes_of(tensor.codes), expected.codes);
  EXPECT_EQ(scales_of(tensor)[0], 1.0F);       // all zero
  EXPECT_EQ(scales_of(tensor)[1], 0x1p-126F);  // subnormal
  EXPECT_EQ(bytes_of(tensor.codes)[1], 0x80);  // the sign of zero
  EXPECT_EQ(bytes_of(tensor.codes)[8], 0xFE);  // -448
  // A scale that is too small clamps.
  const QuantizedTensor clamped = quantize_fp8_tensor(matrix.view(), 0x1p-100F, "w", pool_);
  EXPECT_EQ(bytes_of(clamped.codes)[6], 0x7E);
  EXPECT_EQ(bytes_of(clamped.codes)[8], 0xFE);
  // The largest scales.
  for (const float g : {0x1p127F, 0x1.8p126F, 0x1.4p119F, 0x1.6p110F}) {
    const QuantizedTensor coarse = quantize_fp8_tensor(matrix.view(), g, "w", pool_);
    for (size_t i = 0; i < 12; ++i) {
      const auto scaled = static_cast<float>(double{matrix.as<float>()[i]} / g);
      EXPECT_EQ(bytes_of(coarse.codes)[i], reference::e4m3_code(scaled)) << g << " " << i;
    }
  }
}

TEST_P(Fp8ScaledTest, SlabsAndThreadsDoNotMatter) {
  const Tensor matrix = random_matrix(DType::kBF16, 301, 700, 34);
  const QuantizedTensor whole = quantize_fp8_channel(matrix.view(), "w", pool_);
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    std::vector<uint8_t> codes(301 * 700);
    std::vector<float> scales(301);
    for (int64_t row = 0; row < 301; row += 43) {
      const RowSlab slab = RowSlab::of(matrix.view()).slice(row, 43);
      EXPECT_FALSE(fp8_channel_encode(slab, codes.data() + row * 700, scales.data() + row, pool));
    }
    EXPECT_EQ(codes, bytes_of(whole.codes));
    EXPECT_EQ(scales, scales_of(whole));
  }
}

TEST_P(Fp8ScaledTest, NonFiniteWeightsAreRefusedWithTheirPlace) {
  for (const float bad : {INFINITY, -INFINITY, NAN}) {
    Tensor matrix = random_matrix(DType::kF32, 9, 21, 35);
    matrix.as<float>()[5 * 21 + 20] = bad;
    matrix.as<float>()[7 * 21 + 3] = bad;
    for (const bool channel : {true, false}) {
      try {
        (void
        )(channel ? quantize_fp8_channel(matrix.view(), "layer.7", pool_)
                  : quantize_fp8_tensor(matrix.view(), 1.0F, "layer.7", pool_));
        ADD_FAILURE() << "accepted " << bad;
      } catch (const DataError& error) {
        EXPECT_THAT(error.what(), HasSubstr("layer.7"));
        EXPECT_THAT(error.what(), HasSubstr("[5, 20]"));
      }
    }
  }
  const Tensor matrix(DType::kF32, {2, 2});
  for (const float g : {0.0F, -1.0F, INFINITY, NAN}) {
    EXPECT_THROW((void)quantize_fp8_tensor(matrix.view(), g, "w", pool_), UsageError);
  }
  EXPECT_THROW((void)fp8_scale(NAN), UsageError);
}

HONE_INSTANTIATE_ISA(Fp8ScaledTest);

}  // namespace
}  // namespace hone
