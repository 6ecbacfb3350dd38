#include "core/format/mx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/format/e8m0.h"
#include "tests/core/format/isa_param.h"
#include "tests/core/format/matrix_data.h"

namespace hone {
namespace {

using testing::HasSubstr;

constexpr std::pair<MxScaleRule, reference::MxRule> kRules[] = {
    {MxScaleRule::kFloor, reference::MxRule::kFloor},
    {MxScaleRule::kRound, reference::MxRule::kRound},
    {MxScaleRule::kCeil, reference::MxRule::kCeil}};
constexpr Format kFormats[] = {Format::kMxfp4, Format::kMxfp8};

class MxTest : public IsaTest {
 protected:
  void expect_reference(const Tensor& matrix, const std::string& what) {
    for (const Format format : kFormats) {
      for (const auto& [rule, naive] : kRules) {
        const QuantizedTensor got = quantize_mx(matrix.view(), {format, rule}, "w", pool_);
        const bool fp4 = format == Format::kMxfp4;
        const auto expected = reference::mx(exact_values(matrix), fp4, naive);
        EXPECT_EQ(bytes_of(got.block_scales), expected.scales) << what << format_name(format);
        EXPECT_EQ(bytes_of(got.codes), expected.codes) << what << format_name(format);
      }
    }
  }
  ThreadPool pool_{2};
};

TEST_P(MxTest, AgreesWithTheNaiveEncoder) {
  for (const DType type : {DType::kBF16, DType::kF16, DType::kF32}) {
    for (const auto& [rows, cols] : {std::pair(1, 32), {3, 480}, {40, 512}, {7, 1056}}) {
      expect_reference(random_matrix(type, rows, cols, 41), std::string(dtype_name(type)));
    }
  }
}

TEST_P(MxTest, EdgesOfTheRange) {
  Tensor matrix(DType::kF32, {8, 32});
  float* w = matrix.as<float>().data();
  w[1] = -0.0F;                      // a zero block
  w[32] = 3.4e38F, w[33] = -1e-30F;  // the largest exponent
  w[64] = 1e-45F, w[65] = -1e-44F;   // subnormals: scale 2^-127
  w[96] = 0x1p-126F, w[97] = 0x1.8p-127F;
  w[128] = 7.0F, w[129] = 5.0F, w[130] = -2.5F;  // 7 is clamped by the floor rule
  w[160] = 0x1.fffffep10F, w[161] = 480.0F;
  w[192] = 448.0F, w[193] = 0x1p-9F, w[194] = -0x1p-10F, w[195] = 0x1.8p-9F;
  w[224] = 6.0F, w[225] = 0.25F, w[226] = 0.75F, w[227] = 1.25F, w[228] = 3.5F;  // ties
  expect_reference(matrix, "edges ");
  const QuantizedTensor tensor = quantize_mx(matrix.view(), {}, "w", pool_);
  EXPECT_EQ(bytes_of(tensor.block_scales)[0], kMxZeroBlockScale);
  EXPECT_EQ(bytes_of(tensor.block_scales)[2], 0);
  EXPECT_EQ(bytes_of(tensor.codes)[0], 0x80);   // +0, -0
  EXPECT_EQ(bytes_of(tensor.codes)[64], 0x67);  // 7 -> 6, 5 -> 4 (tie to even)
}

TEST_P(MxTest, RulesDifferWhereTheyShould) {
  // Significands: below 1.5 all agree; from 1.75 on compressed-tensors goes one up.
  struct Case {
    float amax;
    Format format;
    uint8_t floor, round, ceil;
  };
  const Case cases[] = {
      {4.0F, Format::kMxfp4, 127, 127, 127},
      {6.0F, Format::kMxfp4, 127, 127, 127},
      {6.5F, Format::kMxfp4, 127, 127, 128},
      {7.0F, Format::kMxfp4, 127, 128, 128},
      {7.5F, Format::kMxfp4, 127, 128, 128},
      {256.0F, Format::kMxfp8, 127, 127, 127},
      {440.0F, Format::kMxfp8, 127, 127, 127},
      {448.0F, Format::kMxfp8, 127, 128, 127},
      {460.0F, Format::kMxfp8, 127, 128, 128},
      {0.0F, Format::kMxfp8, 127, 127, 127},
      {1e-40F, Format::kMxfp8, 0, 0, 0},
      {3.4e38F, Format::kMxfp4, 252, 253, 253},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(mx_block_scale(c.amax, c.format, MxScaleRule::kFloor), c.floor) << c.amax;
    EXPECT_EQ(mx_block_scale(c.amax, c.format, MxScaleRule::kRound), c.round) << c.amax;
    EXPECT_EQ(mx_block_scale(c.amax, c.format, MxScaleRule::kCeil), c.ceil) << c.amax;
  }
}

TEST_P(MxTest, DecodesElementTimesPowerOfTwo) {
  for (const Format format : kFormats) {
    const Tensor matrix = random_matrix(DType::kF32, 5, 544, 42);
    QuantizedTensor tensor = quantize_mx(matrix.view(), {format}, "w", pool_);
    auto* stored = reinterpret_cast<uint8_t*>(tensor.block_scales.bytes());
    stored[3 * 17] = 0;
    stored[3 * 17 + 1] = 254;
    stored[3 * 17 + 2] = kE8m0Nan;
    const auto codes = bytes_of(tensor.codes);
    const auto scales = bytes_of(tensor.block_scales);
    std::vector<float> out(2 * 544);
    dequantize_rows(tensor, 3, 2, out.data());
    for (size_t i = 0; i < out.size(); ++i) {
      const size_t at = 3 * 544 + i;
      const uint8_t scale = scales[at / 32];
      if (scale == kE8m0Nan) {
        EXPECT_TRUE(std::isnan(out[i]));
        continue;
      }
      const double element = format == Format::kMxfp4
                                 ? reference::e2m1_value(codes[at / 2] >> (at % 2 * 4) & 15)
                                 : reference::e4m3_value(codes[at]);
      EXPECT_EQ(out[i], static_cast<float>(std::ldexp(element, scale - 127))) << i;
    }
  }
}

TEST_P(MxTest, GivenScalesAreUsed) {
  const Tensor matrix = random_matrix(DType::kBF16, 3, 544, 43);
  for (const Format format : kFormats) {
    const QuantizedTensor whole = quantize_mx(matrix.view(), {format}, "w", pool_);
    std::vector<uint8_t> scales = bytes_of(whole.block_scales);
    std::vector<uint8_t> codes(bytes_of(whole.codes).size());
    const RowSlab slab = RowSlab::of(matrix.view());
    mx_encode_with_scales(
        slab, {.format = format, .codes = codes.data(), .scales = scales.data()}, pool_
    );
    EXPECT_EQ(codes, bytes_of(whole.codes));
    // Under the largest scale everything rounds to zero, signs kept.
    scales.assign(scales.size(), 254);
    mx_encode_with_scales(
        slab, {.format = format, .codes = codes.data(), .scales = scales.data()}, pool_
    );
    const uint8_t magnitude = format == Format::kMxfp4 ? 0x77 : 0x7F;
    for (const uint8_t code : codes) ASSERT_EQ(code & magnitude, 0);
  }
}

TEST_P(MxTest, SlabsAndThreadsDoNotMatter) {
  const Tensor matrix = random_matrix(DType::kBF16, 301, 1024, 44);
  const QuantizedTensor whole = quantize_mx(matrix.view(), {}, "w", pool_);
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    std::vector<uint8_t> codes(301 * 512);
    std::vector<uint8_t> scales(301 * 32);
    for (int64_t row = 0; row < 301; row += 7) {
      const MxTarget target{.codes = codes.data() + row * 512, .scales = scales.data() + row * 32};
      EXPECT_FALSE(mx_encode(RowSlab::of(matrix.view()).slice(row, 7), target, pool));
    }
    EXPECT_EQ(codes, bytes_of(whole.codes));
    EXPECT_EQ(scales, bytes_of(whole.block_scales));
  }
}

TEST_P(MxTest, BadInputIsRefused) {
  const Tensor odd(DType::kF32, {2, 48});
  EXPECT_THROW((void)quantize_mx(odd.view(), {}, "w", pool_), UsageError);
  const Tensor even(DType::kF32, {2, 64});
  EXPECT_THROW((void)quantize_mx(even.view(), {Format::kNvfp4}, "w", pool_), UsageError);
  EXPECT_THROW((void)mx_block_scale(INFINITY, Format::kMxfp4, MxScaleRule::kFloor), UsageError);
  for (const float value : {INFINITY, -INFINITY, NAN}) {
    Tensor bad = random_matrix(DType::kF32, 3, 64, 45);
    bad.as<float>()[64 + 63] = value;
    bad.as<float>()[2 * 64] = value;
    for (const Format format : kFormats) {
      try {
        (void)quantize_mx(bad.view(), {format}, "layer.7", pool_);
        ADD_FAILURE() << "accepted " << value;
      } catch (const DataError& error) {
        EXPECT_THAT(error.what(), HasSubstr("layer.7"));
        EXPECT_THAT(error.what(), HasSubstr("[1, 63]"));
      }
    }
  }
}

HONE_INSTANTIATE_ISA(MxTest);

}  // namespace
}  // namespace hone
