#include "core/format/f16.h"

#include <limits>

#include <gtest/gtest.h>
#include <immintrin.h>

#include "tests/core/format/golden_vectors.h"
#include "tests/core/format/sixteen_bit_reference.h"

namespace hone {
namespace {

TEST(F16, DecodesEveryCodeAsTheProcessorDoes) {
  const auto values = magnitudes(0x7C00, 10, 15);
  for (int code = 0; code <= 0xFFFF; ++code) {
    const float decoded = f16_decode(static_cast<uint16_t>(code));
    EXPECT_EQ(float_bits(decoded), float_bits(_cvtsh_ss(static_cast<uint16_t>(code)))) << code;
    const int magnitude = code & 0x7FFF;
    if (magnitude >= 0x7C00) continue;
    EXPECT_EQ(std::fabs(decoded), values[magnitude]);
    EXPECT_EQ(std::signbit(decoded), code >= 0x8000);
  }
}

TEST(F16, RoundsToTheNearestOfAllValues) {
  const auto values = magnitudes(0x7C00, 10, 15);
  for (int code = 0; code + 1 < 0x7C00; ++code) {
    const auto middle = static_cast<float>((values[code] + values[code + 1]) / 2);
    for (const float x :
         {static_cast<float>(values[code]),
          middle,
          std::nextafter(middle, 0.0F),
          std::nextafter(middle, INFINITY)}) {
      EXPECT_EQ(f16_encode(x), nearest_code(values, x)) << x;
      EXPECT_EQ(f16_encode(-x), nearest_code(values, x) | 0x8000) << -x;
    }
  }
}

TEST(F16, OverflowsToInfinityFromTheMidpointOn) {
  EXPECT_EQ(f16_encode(65519.996F), 0x7BFF);
  EXPECT_EQ(f16_encode(65520.0F), 0x7C00);
  EXPECT_EQ(f16_encode(-std::numeric_limits<float>::infinity()), 0xFC00);
  EXPECT_EQ(f16_encode(bits_as<float>(0x7F800001U)), 0x7E00);
}

TEST(F16, AgreesWithPyTorch) {
  const auto inputs = golden_floats("inputs");
  const auto expected = golden_words("f16");
  for (size_t i = 0; i < inputs.size(); ++i)
    EXPECT_EQ(f16_encode(inputs[i]), expected[i]) << inputs[i];
}

}  // namespace
}  // namespace hone
