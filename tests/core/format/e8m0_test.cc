#include "core/format/e8m0.h"

#include <limits>

#include <gtest/gtest.h>

#include "tests/core/format/golden_vectors.h"

namespace hone {
namespace {

TEST(E8m0, DecodesEveryCode) {
  const auto expected = golden_floats("e8m0_values");
  for (int code = 0; code < 255; ++code) {
    EXPECT_EQ(e8m0_decode(static_cast<uint8_t>(code)), std::ldexp(1.0, code - 127));
    EXPECT_EQ(e8m0_decode(static_cast<uint8_t>(code)), expected[code]);
    EXPECT_TRUE(is_e8m0(e8m0_decode(static_cast<uint8_t>(code))));
  }
  EXPECT_TRUE(std::isnan(e8m0_decode(255)));
}

TEST(E8m0, RoundsUpAndDown) {
  for (int code = 0; code < 254; ++code) {
    const auto value = static_cast<float>(std::ldexp(1.0, code - 127));
    const float above = std::nextafter(value, INFINITY);
    EXPECT_EQ(e8m0_encode_ceil(value), code);
    EXPECT_EQ(e8m0_encode_floor(value), code);
    EXPECT_EQ(e8m0_encode_ceil(above), code + 1);
    EXPECT_EQ(e8m0_encode_floor(above), code);
    EXPECT_FALSE(is_e8m0(above));
  }
}

TEST(E8m0, StaysInRange) {
  EXPECT_EQ(e8m0_encode_ceil(0.0F), 0);
  EXPECT_EQ(e8m0_encode_ceil(std::numeric_limits<float>::denorm_min()), 0);
  EXPECT_EQ(e8m0_encode_ceil(-1.0F), 0);
  EXPECT_EQ(e8m0_encode_ceil(std::numeric_limits<float>::max()), 254);
  EXPECT_EQ(e8m0_encode_floor(std::numeric_limits<float>::infinity()), 254);
  EXPECT_EQ(e8m0_encode_floor(std::numeric_limits<float>::quiet_NaN()), kE8m0Nan);
  EXPECT_EQ(e8m0_encode_ceil(std::numeric_limits<float>::quiet_NaN()), kE8m0Nan);
  for (const float x : {0.0F, -1.0F, 3.0F, INFINITY, NAN}) EXPECT_FALSE(is_e8m0(x)) << x;
}

}  // namespace
}  // namespace hone
