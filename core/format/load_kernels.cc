#include "core/format/e8m0.h"
#include "core/format/fp8.h"
#include "core/format/row_kernels.h"
#include "core/format/simd_rows.h"

namespace hone::HONE_ISA {
namespace {

struct LoadE4m3 {
  static constexpr int64_t kSize = 1;
  static HONE_SIMD f32x16 at(const std::byte* p) { return load_e4m3(p); }
};
struct LoadE5m2 {
  static constexpr int64_t kSize = 1;
  static HONE_SIMD f32x16 at(const std::byte* p) { return load_e5m2(p); }
};

template <typename Load>
HONE_SIMD void load_each(const std::byte* source, int64_t n, float* out) {
  for_lanes<Load>(source, n, [out](int64_t i, int lanes, f32x16 x) {
    if (lanes == kLanes) {
      store(out + i, x);
    } else {
      store_partial(out + i, lanes, x);
    }
  });
}

void load_row(DType type, const std::byte* source, int64_t n, float* out) {
  switch (type) {
    case DType::kBF16:
      return load_each<LoadBf16>(source, n, out);
    case DType::kF16:
      return load_each<LoadF16>(source, n, out);
    case DType::kF8E4M3:
      return load_each<LoadE4m3>(source, n, out);
    case DType::kF8E5M2:
      return load_each<LoadE5m2>(source, n, out);
    case DType::kF8E8M0:
      for (int64_t i = 0; i < n; ++i) out[i] = e8m0_decode(static_cast<uint8_t>(source[i]));
      return;
    case DType::kF64:
      for (int64_t i = 0; i < n; ++i) {
        double x;
        std::memcpy(&x, source + i * static_cast<int64_t>(sizeof(x)), sizeof(x));
        out[i] = static_cast<float>(x);
      }
      return;
    default:
      if (n > 0) std::memcpy(out, source, static_cast<size_t>(n) * sizeof(float));
      return;
  }
}

// Sixteen codes of `size` bytes at a time through put(where, values).
template <int64_t kSize, typename Put>
HONE_SIMD void store_each(const float* source, int64_t n, std::byte* out, Put put) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) put(out + i * kSize, load(source + i));
  if (i < n) {
    std::byte buffer[kLanes * kSize];
    put(buffer, load_partial(source + i, n - i));
    std::memcpy(out + i * kSize, buffer, static_cast<size_t>((n - i) * kSize));
  }
}

void store_row(DType type, const float* source, int64_t n, std::byte* out) {
  switch (type) {
    case DType::kBF16:
      return store_each<2>(source, n, out, [](std::byte* p, f32x16 x) { store_bf16(p, x); });
    case DType::kF16:
      return store_each<2>(source, n, out, [](std::byte* p, f32x16 x) { store_f16(p, x); });
    case DType::kF8E4M3:
      return store_each<1>(source, n, out, [](std::byte* p, f32x16 x) { store_e4m3(p, x); });
    case DType::kF8E5M2:
      for (int64_t i = 0; i < n; ++i) out[i] = static_cast<std::byte>(e5m2_encode(source[i]));
      return;
    default:
      if (n > 0) std::memcpy(out, source, static_cast<size_t>(n) * sizeof(float));
      return;
  }
}

uint32_t amax_row(DType type, const std::byte* source, int64_t n) {
  return with_loader(type, [source, n](auto loader) {
    if constexpr (decltype(loader)::kSize == 2) {
      __m256i most = _mm256_setzero_si256();
      int64_t i = 0;
      for (; i + kLanes <= n; i += kLanes)
        most = _mm256_max_epu16(most, magnitude_bits(source + 2 * i));
      if (i < n) {
        alignas(32) std::byte rest[2 * kLanes] = {};
        std::memcpy(rest, source + 2 * i, static_cast<size_t>(2 * (n - i)));
        most = _mm256_max_epu16(most, magnitude_bits(rest));
      }
      return decltype(loader)::widen_bits(hmax_u16(most));
    }
    i32x16 best = set1_i32(0);
    for_lanes<decltype(loader)>(source, n, [&best](int64_t, int, f32x16 x) {
      best = max(best, as_i32(abs(x)));
    });
    return static_cast<uint32_t>(hmax(best));
  });
}

}  // namespace

extern const LoadKernels kLoadKernels = {load_row, store_row, amax_row};

}  // namespace hone::HONE_ISA
