// Rows of F32, BF16 or F16 in steps of sixteen lanes, remainder included. For sources of
// hone_isa_sources().
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/format/simd_codes.h"
#include "core/tensor/dtype.h"

namespace hone::HONE_ISA {

struct LoadF32 {
  static constexpr int64_t kSize = 4;
  static HONE_SIMD f32x16 at(const std::byte* p) {
    return as_f32(load_i32(reinterpret_cast<const int32_t*>(p)));
  }
};
struct LoadBf16 {
  static constexpr int64_t kSize = 2;
  static HONE_SIMD f32x16 at(const std::byte* p) { return load_bf16(p); }
};
struct LoadF16 {
  static constexpr int64_t kSize = 2;
  static HONE_SIMD f32x16 at(const std::byte* p) { return load_f16(p); }
};

// The first n < 16 lanes from memory, the others zero.
template <typename Load>
HONE_SIMD f32x16 load_tail(const std::byte* p, int64_t n) {
  alignas(64) std::byte buffer[kLanes * sizeof(float)] = {};
  std::memcpy(buffer, p, static_cast<size_t>(n * Load::kSize));
  return Load::at(buffer);
}

// body(index of the first lane, lanes that count, values), values beyond them zero.
template <typename Load, typename Body>
HONE_SIMD void for_lanes(const std::byte* source, int64_t n, Body body) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) body(i, kLanes, Load::at(source + i * Load::kSize));
  if (i < n) body(i, static_cast<int>(n - i), load_tail<Load>(source + i * Load::kSize, n - i));
}

// Calls body with the loader of the dtype.
template <typename Body>
HONE_SIMD auto with_loader(DType type, Body body) {
  switch (type) {
    case DType::kBF16:
      return body(LoadBf16{});
    case DType::kF16:
      return body(LoadF16{});
    default:
      return body(LoadF32{});
  }
}

}  // namespace hone::HONE_ISA
