#include "core/format/row_kernels.h"
#include "core/format/simd_rows.h"

namespace hone::HONE_ISA {
namespace {

// Dividing by a power of two equals multiplying by its reciprocal and is several times faster.
HONE_SIMD bool exact_reciprocal(float scale) {
  const auto pattern = __builtin_bit_cast(uint32_t, scale);
  const uint32_t exponent = pattern >> 23;
  return (pattern & 0x7FFFFFU) == 0 && exponent >= 1 && exponent <= 253;
}

// Scales from here on do not survive 256 times their size.
constexpr float kLargeScale = 0x1p119F;

template <typename Load, bool kMultiply>
HONE_SIMD void encode_each(const std::byte* source, int64_t n, float scale, uint8_t* codes) {
  const f32x16 factor = set1(kMultiply ? 1.0F / scale * 0x1p-8F : scale * 256.0F);
  for_lanes<Load>(source, n, [factor, codes](int64_t i, int lanes, f32x16 x) {
    const u8x16 packed = to_e4m3_of_256th(kMultiply ? x * factor : x / factor);
    if (lanes == kLanes) {
      store_u8(codes + i, packed);
    } else {
      uint8_t buffer[kLanes];
      store_u8(buffer, packed);
      std::memcpy(codes + i, buffer, static_cast<size_t>(lanes));
    }
  });
}

void encode_row(DType type, const std::byte* source, int64_t n, float scale, uint8_t* codes) {
  with_loader(type, [=](auto loader) {
    if (exact_reciprocal(scale)) {
      encode_each<decltype(loader), true>(source, n, scale, codes);
    } else if (scale >= kLargeScale) {
      for (int64_t i = 0; i < n; ++i) {
        const f32x16 x = load_tail<decltype(loader)>(source + i * decltype(loader)::kSize, 1);
        uint8_t buffer[kLanes];
        store_u8(buffer, to_e4m3(x / set1(scale)));
        codes[i] = buffer[0];
      }
    } else {
      encode_each<decltype(loader), false>(source, n, scale, codes);
    }
  });
}

void decode_row(const uint8_t* codes, int64_t n, float scale, float* out) {
  const f32x16 factor = set1(scale);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(out + i, load_e4m3(codes + i) * factor);
  if (i < n) {
    uint8_t buffer[kLanes] = {};
    std::memcpy(buffer, codes + i, static_cast<size_t>(n - i));
    store_partial(out + i, n - i, load_e4m3(buffer) * factor);
  }
}

void round_row(float* x, int64_t n, float scale) {
  const f32x16 s = set1(scale);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(x + i, round_e4m3(load(x + i) / s) * s);
  if (i < n) store_partial(x + i, n - i, round_e4m3(load_partial(x + i, n - i) / s) * s);
}

}  // namespace

extern const Fp8Kernels kFp8Kernels = {encode_row, decode_row, round_row};

}  // namespace hone::HONE_ISA
