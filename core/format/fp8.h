// FP8 scalars of the OCP 8-bit floating point specification.
//
// E4M3FN: 1 sign, 4 exponent (bias 7), 3 mantissa bits. No infinity; NaN is 0x7F and 0xFF; largest
//   finite 448 (0x7E); smallest normal 2^-6; subnormals count units of 2^-9.
// E5M2: 1 sign, 5 exponent (bias 15), 2 mantissa bits, IEEE-like: infinity 0x7C, NaN 0x7D..0x7F;
//   largest finite 57344; smallest normal 2^-14; subnormals count units of 2^-16.
#pragma once

#include <array>
#include <cstdint>

#include "core/device/host_device.h"

namespace hone {

inline constexpr float kE4m3Max = 448.0F;
inline constexpr float kE4m3MinSubnormal = 0x1p-9F;
inline constexpr uint8_t kE4m3Nan = 0x7F;
inline constexpr float kE5m2Max = 57344.0F;

// Exact for every code; NaN codes give a quiet NaN of the same sign.
HONE_HD constexpr float e4m3_decode(uint8_t code) {
  const uint32_t sign = static_cast<uint32_t>(code & 0x80U) << 24;
  const uint32_t magnitude = code & 0x7FU;
  if (magnitude == kE4m3Nan) return bits_as<float>(sign | 0x7FC00000U);
  if (magnitude < 8U) {
    const float value = static_cast<float>(magnitude) * kE4m3MinSubnormal;
    return bits_as<float>(sign | bits_as<uint32_t>(value));
  }
  return bits_as<float>(sign | ((magnitude + (120U << 3)) << 20));
}

// Clamps to +-448 (infinities too), then rounds to nearest, ties to even; the sign of zero is
// kept. NaN gives 0x7F with the sign of x. (A cast without the clamp gives NaN from 464 on.)
HONE_HD constexpr uint8_t e4m3_encode(float x) {
  const uint32_t bits = bits_as<uint32_t>(x);
  const uint32_t sign = (bits >> 24) & 0x80U;
  uint32_t a = bits & 0x7FFFFFFFU;
  if (a > 0x7F800000U) return static_cast<uint8_t>(sign | kE4m3Nan);
  if (a > 0x43E00000U) a = 0x43E00000U;  // 448
  // Below 2^-6 codes count units of 2^-9, the spacing of floats just above 2^14.
  const uint32_t code = a < 0x3C800000U
                            ? bits_as<uint32_t>(bits_as<float>(a) + 16384.0F) - 0x46800000U
                            : ((a + 0x7FFFFU + ((a >> 20) & 1U)) >> 20) - (120U << 3);
  return static_cast<uint8_t>(sign | code);
}

// Exact for every code; NaN payloads are kept and made quiet.
HONE_HD constexpr float e5m2_decode(uint8_t code) {
  const uint32_t sign = static_cast<uint32_t>(code & 0x80U) << 24;
  const uint32_t magnitude = code & 0x7FU;
  if (magnitude > 0x7CU) return bits_as<float>(sign | 0x7FC00000U | ((magnitude & 3U) << 21));
  if (magnitude == 0x7CU) return bits_as<float>(sign | 0x7F800000U);
  if (magnitude < 4U) {
    const float value = static_cast<float>(magnitude) * 0x1p-16F;
    return bits_as<float>(sign | bits_as<uint32_t>(value));
  }
  return bits_as<float>(sign | ((magnitude + (112U << 2)) << 21));
}

// Rounds to nearest, ties to even; from 61440 on infinity, as IEEE formats do. NaN gives 0x7F with
// the sign of x.
HONE_HD constexpr uint8_t e5m2_encode(float x) {
  const uint32_t bits = bits_as<uint32_t>(x);
  const uint32_t sign = (bits >> 24) & 0x80U;
  const uint32_t a = bits & 0x7FFFFFFFU;
  uint32_t code = 0;
  if (a > 0x7F800000U) {
    code = 0x7FU;
  } else if (a >= 0x47700000U) {
    code = 0x7CU;
  } else if (a < 0x38800000U) {
    // Below 2^-14 codes count units of 2^-16, the spacing of floats just above 2^7.
    code = bits_as<uint32_t>(bits_as<float>(a) + 128.0F) - 0x43000000U;
  } else {
    code = (a + 0xFFFFFU + ((a >> 21) & 1U) - (112U << 23)) >> 21;
  }
  return static_cast<uint8_t>(sign | code);
}

namespace internal {
template <float (*kDecode)(uint8_t)>
consteval std::array<float, 256> decode_table() {
  std::array<float, 256> table{};
  for (int code = 0; code < 256; ++code) table[code] = kDecode(static_cast<uint8_t>(code));
  return table;
}
}  // namespace internal

// Values by code, for scalar host loops.
inline constexpr std::array<float, 256> kE4m3Values = internal::decode_table<e4m3_decode>();
inline constexpr std::array<float, 256> kE5m2Values = internal::decode_table<e5m2_decode>();

}  // namespace hone
