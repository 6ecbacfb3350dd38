// F16 (IEEE binary16): 1 sign, 5 exponent (bias 15), 10 mantissa bits; largest finite 65504.
#pragma once

#include <cstdint>

#include "core/device/host_device.h"

namespace hone {

// Exact for every code. NaN payloads are kept and made quiet, as the F16C instructions do.
HONE_HD constexpr float f16_decode(uint16_t code) {
  const uint32_t sign = static_cast<uint32_t>(code & 0x8000U) << 16;
  const uint32_t exponent = (code >> 10) & 0x1FU;
  const uint32_t mantissa = code & 0x3FFU;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
    return bits_as<float>(sign | bits_as<uint32_t>(magnitude));
  }
  if (exponent == 31) {
    const uint32_t quiet = mantissa == 0 ? 0U : 0x400000U;
    return bits_as<float>(sign | 0x7F800000U | quiet | (mantissa << 13));
  }
  return bits_as<float>(sign | ((exponent + 112U) << 23) | (mantissa << 13));
}

// Round to nearest, ties to even; from 65520 on infinity. NaN as in f16_decode.
HONE_HD constexpr uint16_t f16_encode(float x) {
  const uint32_t bits = bits_as<uint32_t>(x);
  const uint32_t sign = (bits >> 16) & 0x8000U;
  const uint32_t a = bits & 0x7FFFFFFFU;
  uint32_t code = 0;
  if (a > 0x7F800000U) {
    code = 0x7E00U | ((a >> 13) & 0x3FFU);
  } else if (a >= 0x477FF000U) {
    code = 0x7C00U;
  } else if (a < 0x38800000U) {
    // Below 2^-14 codes count units of 2^-24, the spacing of floats just above 0.5.
    code = bits_as<uint32_t>(bits_as<float>(a) + 0.5F) - 0x3F000000U;
  } else {
    code = (a + 0xFFFU + ((a >> 13) & 1U) - (112U << 23)) >> 13;
  }
  return static_cast<uint16_t>(sign | code);
}

}  // namespace hone
