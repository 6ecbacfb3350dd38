#include "core/format/bf16.h"

#include <limits>

#include <gtest/gtest.h>

#include "tests/core/format/golden_vectors.h"
#include "tests/core/format/sixteen_bit_reference.h"

namespace hone {
namespace {

TEST(Bf16, DecodesEveryCode) {
  const auto values = magnitudes(0x7F80, 7, 127);
  for (int code = 0; code < 0x7F80; ++code) {
    EXPECT_EQ(bf16_decode(static_cast<uint16_t>(code)), values[code]) << code;
    EXPECT_EQ(
        float_bits(bf16_decode(static_cast<uint16_t>(code | 0x8000))),
        float_bits(static_cast<float>(-values[code]))
    ) << code;
  }
  EXPECT_EQ(bf16_decode(0x7F80), std::numeric_limits<float>::infinity());
  for (int code = 0x7F81; code <= 0x7FFF; ++code) {
    EXPECT_TRUE(std::isnan(bf16_decode(static_cast<uint16_t>(code))));
    EXPECT_EQ(float_bits(bf16_decode(static_cast<uint16_t>(code))), uint32_t(code) << 16);
  }
}

TEST(Bf16, RoundTripsEveryCode) {
  for (int code = 0; code <= 0xFFFF; ++code) {
    const auto stored = static_cast<uint16_t>(code);
    const bool nan = (code & 0x7FFF) > 0x7F80;
    EXPECT_EQ(bf16_encode(bf16_decode(stored)), nan ? (code | 0x40) : code);
  }
}

TEST(Bf16, RoundsMidpointsToEven) {
  for (uint32_t code = 0; code < 0x7F80; ++code) {
    const uint32_t middle = code << 16 | 0x8000U;
    const uint32_t even = code + (code & 1U);
    const auto encode = [](uint32_t bits) { return bf16_encode(bits_as<float>(bits)); };
    EXPECT_EQ(encode(middle), even);
    EXPECT_EQ(encode(middle - 1), code);
    EXPECT_EQ(encode(middle + 1), code + 1);
    EXPECT_EQ(encode(middle | 0x80000000U), even | 0x8000U);
  }
}

TEST(Bf16, KeepsNanApartFromInfinity) {
  EXPECT_EQ(bf16_encode(bits_as<float>(0x7F800001U)), 0x7FC0);
  EXPECT_EQ(bf16_encode(bits_as<float>(0xFFC12345U)), 0xFFC1);
}

TEST(Bf16, AgreesWithPyTorch) {
  const auto inputs = golden_floats("inputs");
  const auto expected = golden_words("bf16");
  ASSERT_GT(inputs.size(), 4000U);
  for (size_t i = 0; i < inputs.size(); ++i)
    EXPECT_EQ(bf16_encode(inputs[i]), expected[i]) << inputs[i];
}

}  // namespace
}  // namespace hone
