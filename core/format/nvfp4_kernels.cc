#include "core/format/row_kernels.h"
#include "core/format/simd_rows.h"

namespace hone::HONE_ISA {
namespace {

constexpr int64_t kBlock = 16;

HONE_SIMD float block_amax(f32x16 x) {
  return __builtin_bit_cast(float, hmax(as_i32(abs(x))));
}

// Scale codes of sixteen blocks from their amax.
HONE_SIMD i32x16 scale_codes(f32x16 amax, f32x16 g, Nvfp4ScaleRule rule) {
  const f32x16 ratio = (amax / set1(6.0F)) / g;
  if (rule == Nvfp4ScaleRule::kActivation) return e4m3_codes(ratio);
  const f32x16 kept = max(set1(0x1p-9F), ratio);
  return select(equal(amax, zero()), set1_i32(0x38), e4m3_codes(kept));
}

struct ChunkScales {
  alignas(64) float amax[kLanes];
  alignas(64) float scale[kLanes];  // e4m3(code) * g
  uint8_t codes[kLanes];
};

template <typename Load>
HONE_SIMD void choose_scales(
    const Nvfp4RowArgs& row, int64_t block0, int64_t blocks, ChunkScales& c
) {
  const f32x16 g = set1(row.g);
  if (row.rule == Nvfp4ScaleRule::kGiven) {
    std::memcpy(c.codes, row.scales + block0, static_cast<size_t>(blocks));
  } else {
    const f32x16 amax =
        block_amaxes<Load, kBlock>(row.source + block0 * kBlock * Load::kSize, blocks);
    store_u8(c.codes, narrow_u8(scale_codes(amax, g, row.rule)));
    std::memcpy(row.scales + block0, c.codes, static_cast<size_t>(blocks));
  }
  store(c.scale, load_e4m3(c.codes) * g);
}

template <typename Load>
HONE_SIMD void encode_each(const Nvfp4RowArgs& row) {
  const int64_t total = row.n / kBlock;
  ChunkScales c = {};
  for (int64_t block0 = 0; block0 < total; block0 += kLanes) {
    const int64_t blocks = total - block0 < kLanes ? total - block0 : kLanes;
    choose_scales<Load>(row, block0, blocks, c);
    for (int64_t b = 0; b < blocks; ++b) {
      const int64_t at = (block0 + b) * kBlock;
      const f32x16 x = Load::at(row.source + at * Load::kSize);
      // A scale that rounded to zero (activations only) makes a block of signed zeros.
      const f32x16 ratio = c.scale[b] == 0.0F ? x * zero() : x / set1(c.scale[b]);
      store_e2m1(row.codes + at / 2, ratio);
    }
  }
}

void encode_row(const Nvfp4RowArgs& row) {
  with_loader(row.type, [&row](auto loader) { encode_each<decltype(loader)>(row); });
}

void decode_row(
    const uint8_t* codes, const uint8_t* scales, int64_t n, float g, bool divisor, float* out
) {
  const int64_t total = n / kBlock;
  alignas(64) float scale[kLanes];
  uint8_t bytes[kLanes] = {};
  for (int64_t block0 = 0; block0 < total; block0 += kLanes) {
    const int64_t blocks = total - block0 < kLanes ? total - block0 : kLanes;
    std::memcpy(bytes, scales + block0, static_cast<size_t>(blocks));
    const f32x16 block = load_e4m3(bytes);
    store(scale, divisor ? block / set1(g) : block * set1(g));
    for (int64_t b = 0; b < blocks; ++b) {
      const int64_t at = (block0 + b) * kBlock;
      store(out + at, load_e2m1(codes + at / 2) * set1(scale[b]));
    }
  }
}

void round_row(float* x, int64_t n, float g) {
  const int64_t total = n / kBlock;
  ChunkScales c = {};
  const f32x16 all = set1(g);
  for (int64_t block0 = 0; block0 < total; block0 += kLanes) {
    const int64_t blocks = total - block0 < kLanes ? total - block0 : kLanes;
    for (int64_t b = 0; b < blocks; ++b) c.amax[b] = block_amax(load(x + (block0 + b) * kBlock));
    const i32x16 codes = scale_codes(load(c.amax), all, Nvfp4ScaleRule::kActivation);
    store(c.scale, from_e4m3(narrow_u8(codes)) * all);
    for (int64_t b = 0; b < blocks; ++b) {
      float* at = x + (block0 + b) * kBlock;
      const f32x16 s = set1(c.scale[b]);
      const f32x16 value = load(at);
      store(at, c.scale[b] == 0.0F ? value * zero() : round_e2m1(value / s) * s);
    }
  }
}

}  // namespace

extern const Nvfp4Kernels kNvfp4Kernels = {encode_row, decode_row, round_row};

}  // namespace hone::HONE_ISA
