#include "quant/method/search_kernels.h"

#include "core/format/simd_rows.h"

namespace hone::HONE_ISA {
namespace {

constexpr int kBlock = 16;
constexpr int32_t kLargestCode = 126;
// Codes from here on have a representable half.
constexpr int32_t kFirstHalvable = 16;
constexpr int32_t kZeroBlockCode = 0x38;

// Sixteen blocks, one in each lane: magnitudes brought into [1, 2) by `factor`.
struct Chunk {
  f32x16 x[kBlock];
  f32x16 w[kBlock];
  f32x16 amax;         // as in the source
  f32x16 amax_scaled;  // amax * factor
  f32x16 amax_weight;  // weight of the largest element
  f32x16 factor;
};

// 2^-floor(log2 amax) within the range of normal floats.
HONE_SIMD f32x16 normalizer(f32x16 amax) {
  const i32x16 exponent = max(min(shr<23>(as_i32(amax)), set1_i32(253)), set1_i32(1));
  return as_f32(shl<23>(set1_i32(254) - exponent));
}

// Blocks beyond `blocks` are zero.
template <typename Load>
HONE_SIMD void load_chunk(const Nvfp4SearchRow& row, int64_t block0, int64_t blocks, Chunk& c) {
  alignas(64) float transposed[kBlock][kLanes] = {};
  for (int64_t b = 0; b < blocks; ++b) {
    alignas(64) float block[kLanes];
    store(block, abs(Load::at(row.source + (block0 + b) * kBlock * Load::kSize)));
    for (int e = 0; e < kBlock; ++e) transposed[e][b] = block[e];
  }
  c.amax = zero();
  c.amax_weight = set1(1.0F);
  for (int e = 0; e < kBlock; ++e) {
    c.x[e] = load(transposed[e]);
    if (row.weights != nullptr) {
      c.w[e] = load(row.weights + block0 * kBlock + e * kLanes);
      c.amax_weight = select(less(c.amax, c.x[e]), c.w[e], c.amax_weight);
    }
    c.amax = max(c.amax, c.x[e]);
  }
  c.factor = normalizer(c.amax);
  c.amax_scaled = c.amax * c.factor;
  for (int e = 0; e < kBlock; ++e) c.x[e] = c.x[e] * c.factor;
}

HONE_SIMD f32x16 e4m3_values(i32x16 codes) {
  return from_e4m3_finite(narrow_u8(codes));
}

// The nearest E2M1 magnitude of t >= 0, clamped at 6.
HONE_SIMD f32x16 nearest_e2m1(f32x16 t) {
  const f32x16 a = min(t, set1(6.0F));
  // Adding 2^22 times the power of two below it (at least 1) leaves one mantissa bit.
  const i32x16 power = as_i32(max(a, set1(1.0F))) & set1_i32(0x7F800000);
  const f32x16 magic = as_f32(power + set1_i32(22 << 23));
  return (a + magic) - magic;
}

// Error of each block under its own step (scaled like x).
template <bool kWeighted>
HONE_SIMD f32x16 block_errors(const Chunk& c, f32x16 step) {
  const f32x16 inverse = set1(1.0F) / step;
  f32x16 error = zero();
  for (int e = 0; e < kBlock; ++e) {
    const f32x16 difference = c.x[e] - nearest_e2m1(c.x[e] * inverse) * step;
    const f32x16 left = kWeighted ? difference * c.w[e] : difference;
    error = fma(left, difference, error);
  }
  return error;
}

// Codes of the scales under which amax becomes `target`.
HONE_SIMD i32x16 amax_codes(const Chunk& c, float target, f32x16 g) {
  return e4m3_codes(max(set1(0x1p-9F), (c.amax / set1(target)) / g));
}

// Tries all codes that can be best, from large to small:
// - a code from 16 on under which amax <= 3.5 steps is no better than its half: every value it can
//   give is a value of that too;
// - below the amax code the clamped largest element alone costs (amax - 6 step)^2, which grows as
//   codes fall: the search of a block ends where that exceeds the best.
template <bool kWeighted>
HONE_SIMD i32x16 best_codes(const Chunk& c, f32x16 g, f32x16& best) {
  const i32x16 bound = e4m3_codes((c.amax / set1(3.5F)) / g) + set1_i32(1);
  i32x16 code = max(min(bound, set1_i32(kLargestCode)), set1_i32(kFirstHalvable - 1));
  code = select(equal(c.amax, zero()), set1_i32(0), code);
  i32x16 chosen = code;
  best = set1(__builtin_inff());
  for (;;) {
    const i32x16 valid = max(code, set1_i32(1));
    const f32x16 step = (e4m3_values(valid) * g) * c.factor;
    const f32x16 excess = max(c.amax_scaled - set1(6.0F) * step, zero());
    const f32x16 least = excess * excess * (kWeighted ? c.amax_weight : set1(1.0F));
    const mask16 open = greater(code, set1_i32(0)) & less_equal(least, best);
    if (bits(open) == 0) break;
    const f32x16 error = block_errors<kWeighted>(c, step);
    const mask16 better = less_equal(error, best) & greater(code, set1_i32(0));
    chosen = select(better, valid, chosen);
    best = select(better, error, best);
    code = code - set1_i32(1);
  }
  return chosen;
}

template <bool kWeighted>
HONE_SIMD i32x16 four_or_six(const Chunk& c, f32x16 g, f32x16& best) {
  const i32x16 six = amax_codes(c, 6.0F, g);
  const i32x16 four = amax_codes(c, 4.0F, g);
  best = block_errors<kWeighted>(c, (e4m3_values(six) * g) * c.factor);
  const f32x16 error = block_errors<kWeighted>(c, (e4m3_values(four) * g) * c.factor);
  const mask16 better = less(error, best);
  best = select(better, error, best);
  return select(better, four, six);
}

template <typename Load, bool kWeighted, bool kAll>
HONE_SIMD double search_each(const Nvfp4SearchRow& row) {
  const int64_t total = row.n / kBlock;
  const f32x16 g = set1(row.g);
  double sum = 0;
  Chunk c;
  for (int64_t block0 = 0; block0 < total; block0 += kLanes) {
    const int64_t blocks = total - block0 < kLanes ? total - block0 : kLanes;
    load_chunk<Load>(row, block0, blocks, c);
    f32x16 best;
    i32x16 codes = kAll ? best_codes<kWeighted>(c, g, best) : four_or_six<kWeighted>(c, g, best);
    const mask16 empty = equal(c.amax, zero());
    codes = select(empty, set1_i32(kZeroBlockCode), codes);
    best = select(empty, zero(), best);
    uint8_t bytes[kLanes];
    store_u8(bytes, narrow_u8(codes));
    std::memcpy(row.scales + block0, bytes, static_cast<size_t>(blocks));
    alignas(64) float errors[kLanes];
    alignas(64) float factors[kLanes];
    store(errors, best);
    store(factors, c.factor);
    for (int64_t b = 0; b < blocks; ++b) {
      const double inverse = 1.0 / static_cast<double>(factors[b]);
      sum += static_cast<double>(errors[b]) * inverse * inverse;
    }
  }
  return sum;
}

template <bool kAll>
HONE_SIMD double search_any(const Nvfp4SearchRow& row) {
  return with_loader(row.type, [&row](auto loader) {
    using Load = decltype(loader);
    return row.weights != nullptr ? search_each<Load, true, kAll>(row)
                                  : search_each<Load, false, kAll>(row);
  });
}

double nvfp4_best_row(const Nvfp4SearchRow& row) {
  return search_any<true>(row);
}

double nvfp4_four_over_six_row(const Nvfp4SearchRow& row) {
  return search_any<false>(row);
}

// Errors in units of the scale, so that squares neither overflow nor underflow.
template <bool kFp4>
HONE_SIMD double scaled_error(
    DType type, const std::byte* source, int64_t n, float scale, const float* weights
) {
  const f32x16 inverse = set1(1.0F / scale);
  f32x16 sum = zero();
  with_loader(type, [&](auto loader) {
    for_lanes<decltype(loader)>(source, n, [&](int64_t i, int lanes, f32x16 x) {
      const f32x16 t = x * inverse;
      const f32x16 difference = t - (kFp4 ? round_e2m1(t) : round_e4m3(t));
      f32x16 left = difference;
      if (weights != nullptr) left = left * load_partial(weights + i, lanes);
      sum = fma(left, difference, sum);
    });
  });
  const auto unit = static_cast<double>(scale);
  return static_cast<double>(hsum(sum)) * unit * unit;
}

double fp8_error_row(
    DType type, const std::byte* source, int64_t n, float scale, const float* weights
) {
  return scaled_error<false>(type, source, n, scale, weights);
}

double fp4_error_row(
    DType type, const std::byte* source, int64_t n, float scale, const float* weights
) {
  return scaled_error<true>(type, source, n, scale, weights);
}

}  // namespace

extern const SearchKernels kSearchKernels = {
    nvfp4_best_row, nvfp4_four_over_six_row, fp8_error_row, fp4_error_row};

}  // namespace hone::HONE_ISA
