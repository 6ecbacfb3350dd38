// UE8M0: an unsigned power of two. Code e means 2^(e - 127) for e in 0..254; 255 is NaN. No zero.
#pragma once

#include <cstdint>

#include "core/device/host_device.h"

namespace hone {

inline constexpr uint8_t kE8m0Nan = 255;

// Exact for every code (code 0 is the float32 subnormal 2^-127).
HONE_HD constexpr float e8m0_decode(uint8_t code) {
  if (code == kE8m0Nan) return bits_as<float>(0x7FC00000U);
  if (code == 0) return bits_as<float>(0x00400000U);
  return bits_as<float>(static_cast<uint32_t>(code) << 23);
}

// The smallest code whose value is >= x. x <= 0 gives 0; above 2^127 (infinity too) gives 254; NaN
// gives 255.
HONE_HD constexpr uint8_t e8m0_encode_ceil(float x) {
  const uint32_t bits = bits_as<uint32_t>(x);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return kE8m0Nan;
  if ((bits >> 31) != 0 || bits <= 0x00400000U) return 0;
  const uint32_t code = (bits + 0x007FFFFFU) >> 23;
  return static_cast<uint8_t>(code > 254U ? 254U : code);
}

// The largest code whose value is <= x, at least 0. Negative x gives 0; NaN gives 255.
HONE_HD constexpr uint8_t e8m0_encode_floor(float x) {
  const uint32_t bits = bits_as<uint32_t>(x);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return kE8m0Nan;
  if ((bits >> 31) != 0) return 0;
  const uint32_t code = bits >> 23;
  return static_cast<uint8_t>(code > 254U ? 254U : code);
}

// Is x exactly a value of the format?
HONE_HD constexpr bool is_e8m0(float x) {
  const uint32_t bits = bits_as<uint32_t>(x);
  if (bits == 0x00400000U) return true;
  return (bits & 0x807FFFFFU) == 0 && bits != 0 && bits != 0x7F800000U;
}

}  // namespace hone
