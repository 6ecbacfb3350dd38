#include "core/format/row_kernels.h"
#include "core/format/simd_rows.h"

namespace hone::HONE_ISA {
namespace {

constexpr int64_t kBlock = 32;

// Sixteen blocks of a row: their scale codes and the factors 2^(127 - code).
struct ChunkScales {
  alignas(64) float factor[kLanes];
  uint8_t codes[kLanes];
};

// 2^(127 - code): what elements are multiplied by, exactly. Code 254 gives the subnormal 2^-127.
HONE_SIMD f32x16 inverse_scales(i32x16 codes) {
  return as_f32(max(shl<23>(set1_i32(254) - codes), set1_i32(0x00400000)));
}

HONE_SIMD f32x16 scales_of(i32x16 codes) {
  const f32x16 value = as_f32(max(shl<23>(codes), set1_i32(0x00400000)));
  return select(equal(codes, set1_i32(255)), as_f32(set1_i32(0x7FC00000)), value);
}

template <typename Load>
HONE_SIMD i32x16
choose_scales(const MxRowArgs& row, int64_t block0, int64_t blocks, ChunkScales& c) {
  const i32x16 amax =
      as_i32(block_amaxes<Load, kBlock>(row.source + block0 * kBlock * Load::kSize, blocks));
  const i32x16 raw = shr<23>(amax + set1_i32(row.add)) - set1_i32(row.emax);
  const i32x16 codes = select(equal(amax, set1_i32(0)), set1_i32(127), max(raw, set1_i32(0)));
  store_u8(c.codes, narrow_u8(codes));
  std::memcpy(row.scales + block0, c.codes, static_cast<size_t>(blocks));
  store(c.factor, inverse_scales(codes));
  return amax;
}

template <typename Load, bool kFp4>
HONE_SIMD void encode_block(const std::byte* source, float scale, uint8_t* codes) {
  const f32x16 factor = set1(kFp4 ? scale : scale * 0x1p-8F);
  const f32x16 low = Load::at(source) * factor;
  const f32x16 high = Load::at(source + kLanes * Load::kSize) * factor;
  if constexpr (kFp4) {
    store_e2m1(codes, low);
    store_e2m1(codes + kLanes / 2, high);
  } else {
    store_u8(codes, to_e4m3_of_256th(low));
    store_u8(codes + kLanes, to_e4m3_of_256th(high));
  }
}

template <typename Load, bool kFp4, bool kGiven>
HONE_SIMD uint32_t encode_each(const MxRowArgs& row) {
  constexpr int64_t kCodeBytes = kFp4 ? kBlock / 2 : kBlock;
  const int64_t total = row.n / kBlock;
  ChunkScales c = {};
  i32x16 amax = set1_i32(0);
  for (int64_t block0 = 0; block0 < total; block0 += kLanes) {
    const int64_t blocks = total - block0 < kLanes ? total - block0 : kLanes;
    if constexpr (kGiven) {
      std::memcpy(c.codes, row.scales + block0, static_cast<size_t>(blocks));
      store(c.factor, inverse_scales(widen_u8(load_u8(c.codes))));
    } else {
      amax = max(amax, choose_scales<Load>(row, block0, blocks, c));
    }
    for (int64_t b = 0; b < blocks; ++b) {
      const int64_t block = block0 + b;
      encode_block<Load, kFp4>(
          row.source + block * kBlock * Load::kSize, c.factor[b], row.codes + block * kCodeBytes
      );
    }
  }
  return static_cast<uint32_t>(hmax(amax));
}

template <bool kGiven>
HONE_SIMD uint32_t encode_any(const MxRowArgs& row) {
  return with_loader(row.type, [&row](auto loader) {
    using Load = decltype(loader);
    return row.fp4 ? encode_each<Load, true, kGiven>(row) : encode_each<Load, false, kGiven>(row);
  });
}

uint32_t encode_row(const MxRowArgs& row) {
  return encode_any<false>(row);
}

void encode_row_with_scales(const MxRowArgs& row) {
  (void)encode_any<true>(row);
}

void round_row(bool fp4, int32_t add, int32_t emax, float* x, int64_t n) {
  for (int64_t at = 0; at < n; at += kBlock) {
    const f32x16 low = load(x + at);
    const f32x16 high = load(x + at + kLanes);
    const int32_t amax = hmax(max(as_i32(abs(low)), as_i32(abs(high))));
    if (amax >= 0x7F800000) {
      const f32x16 nan = as_f32(set1_i32(0x7FC00000));
      store(x + at, nan);
      store(x + at + kLanes, nan);
      continue;
    }
    const int32_t raw = ((amax + add) >> 23) - emax;
    const i32x16 code = set1_i32(amax == 0 ? 127 : raw < 0 ? 0 : raw);
    const f32x16 factor = inverse_scales(code);
    const f32x16 s = scales_of(code);
    store(x + at, (fp4 ? round_e2m1(low * factor) : round_e4m3(low * factor)) * s);
    store(x + at + kLanes, (fp4 ? round_e2m1(high * factor) : round_e4m3(high * factor)) * s);
  }
}

void decode_row(bool fp4, const uint8_t* codes, const uint8_t* scales, int64_t n, float* out) {
  const int64_t total = n / kBlock;
  alignas(64) float scale[kLanes];
  uint8_t bytes[kLanes] = {};
  for (int64_t block0 = 0; block0 < total; block0 += kLanes) {
    const int64_t blocks = total - block0 < kLanes ? total - block0 : kLanes;
    std::memcpy(bytes, scales + block0, static_cast<size_t>(blocks));
    store(scale, scales_of(widen_u8(load_u8(bytes))));
    for (int64_t b = 0; b < blocks; ++b) {
      const int64_t at = (block0 + b) * kBlock;
      const f32x16 s = set1(scale[b]);
      if (fp4) {
        store(out + at, load_e2m1(codes + at / 2) * s);
        store(out + at + kLanes, load_e2m1(codes + at / 2 + kLanes / 2) * s);
      } else {
        store(out + at, load_e4m3(codes + at) * s);
        store(out + at + kLanes, load_e4m3(codes + at + kLanes) * s);
      }
    }
  }
}

}  // namespace

extern const MxKernels kMxKernels = {encode_row, encode_row_with_scales, round_row, decode_row};

}  // namespace hone::HONE_ISA
