// BF16: 1 sign, 8 exponent, 7 mantissa bits; the upper half of a float32.
#pragma once

#include <cstdint>

#include "core/device/host_device.h"

namespace hone {

// Exact for every code; NaN payloads are kept.
HONE_HD constexpr float bf16_decode(uint16_t code) {
  return bits_as<float>(static_cast<uint32_t>(code) << 16);
}

// Round to nearest, ties to even; overflow gives infinity. A NaN stays a NaN of the same sign and
// upper payload, made quiet.
HONE_HD constexpr uint16_t bf16_encode(float x) {
  const uint32_t bits = bits_as<uint32_t>(x);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return static_cast<uint16_t>((bits >> 16) | 0x40U);
  return static_cast<uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
}

// x rounded to BF16 and back.
HONE_HD constexpr float bf16_round(float x) {
  return bf16_decode(bf16_encode(x));
}

}  // namespace hone
