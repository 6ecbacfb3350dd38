#include "core/format/activation.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/core/format/golden_vectors.h"
#include "tests/core/format/isa_param.h"
#include "tests/core/format/matrix_data.h"

namespace hone {
namespace {

class Activation : public IsaTest {};

std::vector<float> random_rows(int64_t rows, int64_t cols, uint64_t seed) {
  const Tensor matrix = random_matrix(DType::kF32, rows, cols, seed);
  const auto values = matrix.as<float>();
  return {values.begin(), values.end()};
}

// act_quant of DeepSeek's inference code, step by step.
std::vector<float> naive_fp8(std::vector<float> x, int64_t cols, double floor, bool power) {
  const auto total = static_cast<int64_t>(x.size());
  for (int64_t row = 0; row < total; row += cols) {
    for (int64_t c = 0; c < cols; c += 128) {
      const int64_t n = std::min<int64_t>(128, cols - c);
      float amax = 0;
      for (int64_t i = 0; i < n; ++i) amax = std::max(amax, std::fabs(x[row + c + i]));
      amax = std::max(amax, static_cast<float>(floor));
      auto scale = static_cast<float>(amax / 448.0);
      if (power) scale = static_cast<float>(std::exp2(std::ceil(std::log2(double{scale}))));
      for (int64_t i = 0; i < n; ++i) {
        float& value = x[row + c + i];
        const auto scaled = static_cast<float>(double{value} / scale);
        value = static_cast<float>(reference::e4m3_value(reference::e4m3_code(scaled)) * scale);
      }
    }
  }
  return x;
}

TEST_P(Activation, Fp8FollowsTheNaiveVersion) {
  for (const int64_t cols : {128, 300, 5}) {
    for (const bool power : {false, true}) {
      std::vector<float> x = random_rows(3, cols, 31);
      x[0] = 1000.0F;
      const auto expected = naive_fp8(x, cols, 1e-4, power);
      round_fp8_activations(x.data(), 3, cols, {.power_of_two = power});
      EXPECT_EQ(x, expected) << cols << power;
    }
  }
}

TEST_P(Activation, Fp8FloorsTheAmaxOfQuietGroups) {
  std::vector<float> x(128, 0.0F);
  x[1] = 3e-5F;
  const auto expected = naive_fp8(x, 128, 1e-4, false);
  round_fp8_activations(x.data(), 1, 128, {});
  EXPECT_EQ(x, expected);
  EXPECT_NE(x[1], 3e-5F);  // with its own amax it would have been kept exactly
  std::vector<float> zeros(128, 0.0F);
  round_fp8_activations(zeros.data(), 1, 128, {.amax_floor = 0.0F});
  EXPECT_EQ(zeros, std::vector<float>(128, 0.0F));
}

TEST_P(Activation, Nvfp4FollowsTheNaiveVersion) {
  for (const int64_t cols : {16, 320, 1040}) {
    std::vector<float> x = random_rows(4, cols, 32);
    const float g = 5.0F / 2688.0F;  // smaller than amax / 2688, so block scales clamp too
    std::vector<uint8_t> codes(x.size() / 2);
    std::vector<uint8_t> scales(x.size() / 16);
    encode_nvfp4_activations(x.data(), 4, cols, g, {codes.data(), scales.data()});
    std::vector<float> expected(x.size());
    for (size_t block = 0; block < scales.size(); ++block) {
      double amax = 0;
      for (size_t i = 0; i < 16; ++i) amax = std::max<double>(amax, std::fabs(x[16 * block + i]));
      const auto ratio = static_cast<float>(double{static_cast<float>(amax / 6.0)} / g);
      ASSERT_EQ(scales[block], reference::e4m3_code(ratio));
      const auto step = static_cast<float>(reference::e4m3_value(scales[block]) * g);
      for (size_t i = 0; i < 16; ++i) {
        const size_t at = 16 * block + i;
        const auto scaled = static_cast<float>(double{x[at]} / step);
        const int code =
            step == 0.0F ? (std::signbit(x[at]) ? 8 : 0) : reference::e2m1_code(scaled);
        EXPECT_EQ(codes[at / 2] >> (at % 2 * 4) & 15, code) << at;
        expected[at] = static_cast<float>(reference::e2m1_value(code) * step);
      }
    }
    round_nvfp4_activations(x.data(), 4, cols, g);
    EXPECT_EQ(x, expected);
  }
}

TEST_P(Activation, Nvfp4BlocksFarBelowTheRangeBecomeZero) {
  std::vector<float> x(32, 0.0F);
  x[3] = 1e-8F;
  x[4] = -1e-8F;
  x[16] = 1.0F;
  round_nvfp4_activations(x.data(), 1, 32, 1.0F / 448.0F);
  EXPECT_EQ(float_bits(x[3]), float_bits(0.0F));
  EXPECT_EQ(float_bits(x[4]), float_bits(-0.0F));
  EXPECT_NEAR(x[16], 1.0F, 0.07F);
}

TEST_P(Activation, TokensHaveOneScaleEach) {
  for (const int64_t cols : {1, 19, 300}) {
    std::vector<float> x = random_rows(4, cols, 33);
    for (int64_t c = 0; c < cols; ++c) x[c] *= 1e-9F;  // below vLLM's floor
    std::vector<float> expected = x;
    for (int64_t r = 0; r < 4; ++r) {
      float amax = 0;
      for (int64_t c = 0; c < cols; ++c) amax = std::max(amax, std::fabs(x[r * cols + c]));
      const float scale = std::max(static_cast<float>(amax / 448.0), 1.0F / 229376.0F);
      for (int64_t c = 0; c < cols; ++c) {
        float& value = expected[r * cols + c];
        const auto scaled = static_cast<float>(double{value} / scale);
        value = static_cast<float>(reference::e4m3_value(reference::e4m3_code(scaled)) * scale);
      }
    }
    round_fp8_token_activations(x.data(), 4, cols);
    EXPECT_EQ(x, expected) << cols;
  }
}

TEST_P(Activation, StaticScalesClamp) {
  std::vector<float> x = random_rows(1, 50, 34);
  x[3] = 1e30F;
  x[4] = -1e30F;
  std::vector<float> expected = x;
  for (float& value : expected) {
    const auto scaled = static_cast<float>(double{value} / 0.003F);
    value = static_cast<float>(reference::e4m3_value(reference::e4m3_code(scaled)) * 0.003F);
  }
  round_fp8_tensor_activations(x.data(), 50, 0.003F);
  EXPECT_EQ(x, expected);
  EXPECT_EQ(x[4], -448.0F * 0.003F);
}

TEST_P(Activation, MxFollowsTheCodecUnderTheCeilRule) {
  for (const bool fp4 : {true, false}) {
    std::vector<float> x = random_rows(3, 96, 35);
    std::fill_n(x.begin(), 32, 0.0F);
    const reference::Matrix matrix{3, 96, {x.begin(), x.end()}};
    const auto naive = reference::mx(matrix, fp4, reference::MxRule::kCeil);
    std::vector<float> expected;
    for (size_t i = 0; i < x.size(); ++i) {
      const double element = fp4 ? reference::e2m1_value(naive.codes[i / 2] >> (i % 2 * 4) & 15)
                                 : reference::e4m3_value(naive.codes[i]);
      expected.push_back(static_cast<float>(std::ldexp(element, naive.scales[i / 32] - 127)));
    }
    round_mx_activations(x.data(), 3, 96, fp4 ? Format::kMxfp4 : Format::kMxfp8);
    EXPECT_EQ(x, expected);
  }
}

TEST_P(Activation, NanSpreadsOverItsGroupAndIsNeverHidden) {
  std::vector<float> x(256, 1.0F);
  x[7] = NAN;
  round_fp8_activations(x.data(), 1, 256, {});
  EXPECT_TRUE(std::isnan(x[7]) && std::isnan(x[127]));
  EXPECT_EQ(x[128], 1.0F);
  std::vector<float> y(32, 1.0F);
  y[7] = NAN;
  round_nvfp4_activations(y.data(), 1, 32, 1.0F / 2688.0F);
  EXPECT_TRUE(std::isnan(y[7]) && std::isnan(y[0]));
  EXPECT_FALSE(std::isnan(y[16]));
  std::vector<float> token(40, 1.0F);
  token[7] = NAN;
  round_fp8_token_activations(token.data(), 2, 20);
  EXPECT_TRUE(std::isnan(token[7]) && std::isnan(token[0]));
  EXPECT_EQ(token[20], 1.0F);
  std::vector<float> mx(64, 1.0F);
  mx[40] = INFINITY;
  round_mx_activations(mx.data(), 1, 64, Format::kMxfp4);
  EXPECT_TRUE(std::isnan(mx[40]) && std::isnan(mx[63]));
  EXPECT_EQ(mx[31], 1.0F);
}

TEST_P(Activation, WrongWidthsAndScalesAreRefused) {
  std::vector<float> x(24);
  EXPECT_THROW(round_nvfp4_activations(x.data(), 1, 24, 1.0F), UsageError);
  EXPECT_THROW(round_nvfp4_activations(x.data(), 1, 16, 0.0F), UsageError);
  EXPECT_THROW(encode_nvfp4_activations(x.data(), 1, 16, -1.0F, {}), UsageError);
  EXPECT_THROW(round_fp8_tensor_activations(x.data(), 24, 0.0F), UsageError);
  EXPECT_THROW(round_mx_activations(x.data(), 1, 24, Format::kMxfp4), UsageError);
  EXPECT_THROW(round_mx_activations(x.data(), 1, 0, Format::kNvfp4), UsageError);
}

HONE_INSTANTIATE_ISA(Activation);

}  // namespace
}  // namespace hone
