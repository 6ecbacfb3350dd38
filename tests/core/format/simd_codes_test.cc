#include "core/format/simd_codes.h"

#include <cmath>

#include <gtest/gtest.h>

#include "core/format/fp8.h"
#include "tests/core/format/isa_param.h"
#include "tests/core/format/simd_codes_checks.h"
#include "tests/reference/quant_formats.h"

namespace hone {
namespace {

class SimdCodes : public IsaTest {
 protected:
  static int64_t encode(uint64_t begin, uint64_t end, uint32_t step) {
    return by_isa(avx2::encode_mismatches, avx512::encode_mismatches)(begin, end, step);
  }
};

TEST_P(SimdCodes, EncodeLikeTheScalarCodecs) {
  // A prime step visits every exponent and all kinds of mantissas.
  EXPECT_EQ(encode(0, uint64_t{1} << 32, 1021), 0);
  // Every float32 around the values where E4M3 and E2M1 change codes between 1 and 2.
  EXPECT_EQ(encode(0x3F7FFF00, 0x3F800100, 1), 0);
  EXPECT_EQ(encode(0x7F7FFF00, 0x7F800100, 1), 0);
}

TEST_P(SimdCodes, Nibbles) {
  EXPECT_EQ(by_isa(avx2::nibble_mismatches, avx512::nibble_mismatches)(), 0);
}

TEST_P(SimdCodes, FiniteE4m3) {
  EXPECT_EQ(by_isa(avx2::finite_decode_mismatches, avx512::finite_decode_mismatches)(), 0);
}

// All 2^32 float32 against the definition: the nearest value by its midpoints in float64, written
// as thresholds. Takes a minute or two; run with --gtest_also_run_disabled_tests.
TEST(E4m3Sweep, DISABLED_EveryFloat32) {
  double middle[127];
  for (int code = 0; code < 126; ++code) {
    middle[code] = (reference::e4m3_magnitude(code) + reference::e4m3_magnitude(code + 1)) / 2;
  }
  int64_t wrong = 0;
  int code = 0;
  for (uint64_t pattern = 0; pattern <= 0x7F800000U; ++pattern) {
    const auto x = bits_as<float>(static_cast<uint32_t>(pattern));
    while (code < 126 && (double{x} > middle[code] || (double{x} == middle[code] && code % 2 == 1)))
      ++code;
    wrong += e4m3_encode(x) != code;
    wrong += e4m3_encode(-x) != (code | 0x80);
  }
  for (uint64_t pattern = 0x7F800001U; pattern <= 0x7FFFFFFFU; ++pattern) {
    wrong += e4m3_encode(bits_as<float>(static_cast<uint32_t>(pattern))) != 0x7F;
    wrong += e4m3_encode(bits_as<float>(static_cast<uint32_t>(pattern | 0x80000000U))) != 0xFF;
  }
  EXPECT_EQ(wrong, 0);
}

TEST_P(SimdCodes, DISABLED_EveryFloat32) {
  EXPECT_EQ(encode(0, uint64_t{1} << 32, 1), 0);
}

HONE_INSTANTIATE_ISA(SimdCodes);

}  // namespace
}  // namespace hone
