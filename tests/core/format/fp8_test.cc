#include "core/format/fp8.h"

#include <limits>

#include <gtest/gtest.h>

#include "tests/core/format/golden_vectors.h"
#include "tests/core/format/sixteen_bit_reference.h"

namespace hone {
namespace {

// E4M3 has finite codes up to 0x7E.
const std::vector<double>& e4m3() {
  static const auto values = magnitudes(0x7F, 3, 7);
  return values;
}

TEST(E4m3, DecodesEveryCode) {
  const auto expected = golden_floats("e4m3_values");
  for (int code = 0; code < 256; ++code) {
    const float value = e4m3_decode(static_cast<uint8_t>(code));
    EXPECT_EQ(float_bits(value), float_bits(kE4m3Values[code]));
    if ((code & 0x7F) == 0x7F) {
      EXPECT_TRUE(std::isnan(value));
      EXPECT_EQ(std::signbit(value), code >= 0x80);
      continue;
    }
    EXPECT_EQ(float_bits(value), float_bits(expected[code])) << code;
    EXPECT_EQ(std::fabs(value), e4m3()[code & 0x7F]);
  }
}

TEST(E4m3, RoundsToTheNearestOfAllValues) {
  for (int code = 0; code + 1 < 0x7F; ++code) {
    const auto middle = static_cast<float>((e4m3()[code] + e4m3()[code + 1]) / 2);
    for (const float x :
         {static_cast<float>(e4m3()[code]),
          middle,
          std::nextafter(middle, 0.0F),
          std::nextafter(middle, INFINITY)}) {
      EXPECT_EQ(e4m3_encode(x), nearest_code(e4m3(), x)) << x;
      EXPECT_EQ(e4m3_encode(-x), nearest_code(e4m3(), x) | 0x80) << -x;
    }
  }
}

TEST(E4m3, ClampsInsteadOfGivingNan) {
  for (const float x : {448.0F, 463.99F, 464.0F, 464.01F, 480.0F, 1e30F, INFINITY}) {
    EXPECT_EQ(e4m3_encode(x), 0x7E) << x;
    EXPECT_EQ(e4m3_encode(-x), 0xFE) << x;
  }
  EXPECT_EQ(e4m3_encode(std::numeric_limits<float>::quiet_NaN()), 0x7F);
  EXPECT_EQ(e4m3_encode(-0.0F), 0x80);
  EXPECT_EQ(e4m3_encode(0x1p-10F), 0x00);  // tie between 0 and 2^-9
  EXPECT_EQ(e4m3_encode(std::nextafter(0x1p-10F, 1.0F)), 0x01);
}

TEST(E4m3, AgreesWithPyTorch) {
  const auto inputs = golden_floats("inputs");
  const auto expected = golden_bytes("e4m3");
  for (size_t i = 0; i < inputs.size(); ++i)
    EXPECT_EQ(e4m3_encode(inputs[i]), expected[i]) << inputs[i];
}

TEST(E5m2, DecodesEveryCode) {
  const auto expected = golden_floats("e5m2_values");
  const auto values = magnitudes(0x7C, 2, 15);
  for (int code = 0; code < 256; ++code) {
    const float value = e5m2_decode(static_cast<uint8_t>(code));
    EXPECT_EQ(float_bits(value), float_bits(kE5m2Values[code]));
    if ((code & 0x7F) > 0x7C) {
      EXPECT_TRUE(std::isnan(value));
      continue;
    }
    EXPECT_EQ(float_bits(value), float_bits(expected[code])) << code;
    if ((code & 0x7F) < 0x7C) {
      EXPECT_EQ(std::fabs(value), values[code & 0x7F]);
    }
  }
}

TEST(E5m2, RoundsToTheNearestAndOverflowsToInfinity) {
  const auto values = magnitudes(0x7C, 2, 15);
  for (int code = 0; code + 1 < 0x7C; ++code) {
    const auto middle = static_cast<float>((values[code] + values[code + 1]) / 2);
    for (const float x :
         {static_cast<float>(values[code]),
          middle,
          std::nextafter(middle, 0.0F),
          std::nextafter(middle, INFINITY)}) {
      EXPECT_EQ(e5m2_encode(x), nearest_code(values, x)) << x;
      EXPECT_EQ(e5m2_encode(-x), nearest_code(values, x) | 0x80) << -x;
    }
  }
  EXPECT_EQ(e5m2_encode(61439.996F), 0x7B);
  EXPECT_EQ(e5m2_encode(61440.0F), 0x7C);
  EXPECT_EQ(e5m2_encode(-std::numeric_limits<float>::quiet_NaN()), 0xFF);
}

TEST(E5m2, AgreesWithPyTorch) {
  const auto inputs = golden_floats("inputs");
  const auto expected = golden_bytes("e5m2");
  for (size_t i = 0; i < inputs.size(); ++i)
    EXPECT_EQ(e5m2_encode(inputs[i]), expected[i]) << inputs[i];
}

}  // namespace
}  // namespace hone
