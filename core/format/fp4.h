// FP4 E2M1: code = sign << 3 | index into {0, 0.5, 1, 1.5, 2, 3, 4, 6}. No NaN, no infinity; code 8
// is -0.
//
// Two codes share a byte: the element with the even column in the low nibble.
#pragma once

#include <array>
#include <cstdint>

#include "core/device/host_device.h"

namespace hone {

inline constexpr float kE2m1Max = 6.0F;

// Exact. Only the low four bits of `code` count.
HONE_HD constexpr float e2m1_decode(uint8_t code) {
  const uint32_t sign = static_cast<uint32_t>(code & 8U) << 28;
  const uint32_t magnitude = code & 7U;
  if (magnitude < 2U) return bits_as<float>(sign | (magnitude == 0U ? 0U : 0x3F000000U));
  return bits_as<float>(sign | ((magnitude + (126U << 1)) << 22));
}

// Clamps to +-6 (infinities too), then rounds to nearest, ties to the even code. The sign bit of x
// is kept, for zeros and for values that round to zero too (as the hardware conversion does). NaN
// gives 6 with the sign of x: callers refuse NaN before they encode.
HONE_HD constexpr uint8_t e2m1_encode(float x) {
  const uint32_t bits = bits_as<uint32_t>(x);
  const uint32_t sign = (bits >> 28) & 8U;
  uint32_t a = bits & 0x7FFFFFFFU;
  if (a > 0x40C00000U) a = 0x40C00000U;  // 6
  // Below 1 codes count units of 0.5, the spacing of floats just above 2^22.
  const uint32_t code = a < 0x3F800000U
                            ? bits_as<uint32_t>(bits_as<float>(a) + 4194304.0F) - 0x4A800000U
                            : ((a + 0x1FFFFFU + ((a >> 22) & 1U)) >> 22) - (126U << 1);
  return static_cast<uint8_t>(sign | code);
}

// Code of column `index` in packed rows.
HONE_HD constexpr uint8_t fp4_get(const uint8_t* packed, int64_t index) {
  return static_cast<uint8_t>((packed[index / 2] >> ((index & 1) * 4)) & 0xFU);
}

// Values by code, for scalar host loops.
inline constexpr std::array<float, 16> kE2m1Values = {
    0.0F,
    0.5F,
    1.0F,
    1.5F,
    2.0F,
    3.0F,
    4.0F,
    6.0F,
    -0.0F,
    -0.5F,
    -1.0F,
    -1.5F,
    -2.0F,
    -3.0F,
    -4.0F,
    -6.0F};

}  // namespace hone
