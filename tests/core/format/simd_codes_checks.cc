// Compiled once for each ISA: the codecs in registers against the scalar ones.
#include "tests/core/format/simd_codes_checks.h"

#include "core/format/bf16.h"
#include "core/format/fp4.h"
#include "core/format/fp8.h"
#include "core/format/simd_codes.h"

namespace hone::HONE_ISA {
namespace {

// Sixteen float32 whose bits are first, first + step, ...
HONE_SIMD f32x16 pattern(uint32_t first, uint32_t step, uint32_t* bits) {
  for (uint32_t i = 0; i < kLanes; ++i) bits[i] = first + i * step;
  return as_f32(load_i32(reinterpret_cast<const int32_t*>(bits)));
}

}  // namespace

int64_t encode_mismatches(uint64_t begin, uint64_t end, uint32_t step) {
  int64_t wrong = 0;
  uint32_t bits_in[kLanes];
  uint8_t fp8[kLanes];
  uint8_t scaled8[kLanes];
  int32_t fp4[kLanes];
  uint16_t half[kLanes];
  float rounded8[kLanes];
  float rounded4[kLanes];
  for (uint64_t at = begin; at < end; at += uint64_t{step} * kLanes) {
    const f32x16 x = pattern(static_cast<uint32_t>(at), step, bits_in);
    store_e4m3(fp8, x);
    store_u8(scaled8, to_e4m3_of_256th(x * set1(0x1p-8F)));
    store_i32(fp4, e2m1_codes(x));
    store_bf16(half, x);
    store(rounded8, round_e4m3(x));
    store(rounded4, round_e2m1(x));
    for (int i = 0; i < kLanes; ++i) {
      const float value = bits_as<float>(bits_in[i]);
      wrong += fp8[i] != e4m3_encode(value);
      wrong += fp4[i] != e2m1_encode(value);
      wrong += half[i] != bf16_encode(value);
      if ((bits_in[i] & 0x7FFFFFFFU) > 0x7F800000U) continue;
      wrong += scaled8[i] != e4m3_encode(value);
      wrong += bits_as<uint32_t>(rounded8[i]) != bits_as<uint32_t>(e4m3_decode(fp8[i]));
      wrong += bits_as<uint32_t>(rounded4[i]) != bits_as<uint32_t>(e2m1_decode(e2m1_encode(value)));
    }
  }
  return wrong;
}

int64_t nibble_mismatches() {
  int64_t wrong = 0;
  for (int first = 0; first < 256; ++first) {
    uint8_t packed[8];
    for (int i = 0; i < 8; ++i) packed[i] = static_cast<uint8_t>(first + 37 * i);
    float values[kLanes];
    uint8_t codes[kLanes];
    uint8_t doubled[kLanes];
    uint8_t again[8];
    store(values, load_e2m1(packed));
    store_u8(codes, unpack_nibbles(packed));
    store_u8(doubled, e2m1_doubled(unpack_nibbles(packed)));
    store_e2m1(again, load_e2m1(packed));
    for (int i = 0; i < kLanes; ++i) {
      const float expected = e2m1_decode(fp4_get(packed, i));
      wrong += bits_as<uint32_t>(values[i]) != bits_as<uint32_t>(expected);
      wrong += codes[i] != fp4_get(packed, i);
      wrong += static_cast<float>(static_cast<int8_t>(doubled[i])) != 2.0F * expected;
    }
    for (int i = 0; i < 8; ++i) wrong += again[i] != packed[i];
  }
  return wrong;
}

int64_t finite_decode_mismatches() {
  int64_t wrong = 0;
  for (int first = 0; first < 256; first += kLanes) {
    uint8_t codes[kLanes];
    for (int i = 0; i < kLanes; ++i) codes[i] = static_cast<uint8_t>(first + i);
    float values[kLanes];
    store(values, load_e4m3_finite(codes));
    for (int i = 0; i < kLanes; ++i) {
      const bool nan = (codes[i] & 0x7F) == 0x7F;
      const float expected = nan ? (codes[i] < 0x80 ? 480.0F : -480.0F) : e4m3_decode(codes[i]);
      wrong += bits_as<uint32_t>(values[i]) != bits_as<uint32_t>(expected);
    }
  }
  return wrong;
}

}  // namespace hone::HONE_ISA
