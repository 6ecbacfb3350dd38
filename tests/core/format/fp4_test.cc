#include "core/format/fp4.h"

#include <limits>

#include <gtest/gtest.h>

#include "tests/core/format/golden_vectors.h"

namespace hone {
namespace {

TEST(Fp4, DecodesEveryCode) {
  const auto expected = golden_floats("e2m1_values");
  for (int code = 0; code < 16; ++code) {
    EXPECT_EQ(float_bits(e2m1_decode(static_cast<uint8_t>(code))), float_bits(expected[code]));
    EXPECT_EQ(float_bits(kE2m1Values[code]), float_bits(expected[code]));
    EXPECT_EQ(
        e2m1_decode(static_cast<uint8_t>(code | 0xF0)), e2m1_decode(static_cast<uint8_t>(code))
    );
  }
}

TEST(Fp4, RoundsAtTheDocumentedThresholds) {
  const float ties[] = {0.25F, 0.75F, 1.25F, 1.75F, 2.5F, 3.5F, 5.0F};
  const int even[] = {0, 2, 2, 4, 4, 6, 6};
  for (int i = 0; i < 7; ++i) {
    EXPECT_EQ(e2m1_encode(ties[i]), even[i]) << ties[i];
    EXPECT_EQ(e2m1_encode(std::nextafter(ties[i], 0.0F)), i);
    EXPECT_EQ(e2m1_encode(std::nextafter(ties[i], 9.0F)), i + 1);
    EXPECT_EQ(e2m1_encode(-ties[i]), even[i] | 8);
  }
}

TEST(Fp4, SaturatesAndKeepsSigns) {
  for (const float x : {6.0F, 6.01F, 1e30F, INFINITY}) EXPECT_EQ(e2m1_encode(x), 7) << x;
  EXPECT_EQ(e2m1_encode(-INFINITY), 15);
  EXPECT_EQ(e2m1_encode(-0.0F), 8);
  EXPECT_EQ(e2m1_encode(-1e-20F), 8);
  EXPECT_EQ(e2m1_encode(NAN), 7);
}

TEST(Fp4, AgreesWithMlDtypes) {
  const auto inputs = golden_floats("inputs");
  const auto expected = golden_bytes("e2m1");
  for (size_t i = 0; i < inputs.size(); ++i)
    EXPECT_EQ(e2m1_encode(inputs[i]), expected[i]) << inputs[i];
}

TEST(Fp4, EvenColumnsAreInTheLowNibble) {
  const uint8_t packed[] = {0xF7, 0x91};  // 6, -6, 0.5, -0.5
  const float expected[] = {6.0F, -6.0F, 0.5F, -0.5F};
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(e2m1_decode(fp4_get(packed, i)), expected[i]);
}

}  // namespace
}  // namespace hone
