#include "core/format/load.h"

#include <cstring>

#include "core/base/error.h"
#include "core/format/bf16.h"
#include "core/format/e8m0.h"
#include "core/format/f16.h"
#include "core/format/fp8.h"

namespace hone {
namespace {

template <typename Code, typename Decode>
void load_each(const std::byte* source, int64_t n, float* out, Decode decode) {
  for (int64_t i = 0; i < n; ++i) {
    Code code;
    std::memcpy(&code, source + i * static_cast<int64_t>(sizeof(Code)), sizeof(Code));
    out[i] = decode(code);
  }
}

template <typename Code, typename Encode>
void store_each(const float* source, int64_t n, std::byte* out, Encode encode) {
  for (int64_t i = 0; i < n; ++i) {
    const Code code = encode(source[i]);
    std::memcpy(out + i * static_cast<int64_t>(sizeof(Code)), &code, sizeof(Code));
  }
}

}  // namespace

void load_floats(DType type, const std::byte* source, int64_t n, float* out) {
  switch (type) {
    case DType::kF32:
      if (n > 0) std::memcpy(out, source, static_cast<size_t>(n) * sizeof(float));
      return;
    case DType::kBF16:
      load_each<uint16_t>(source, n, out, [](uint16_t c) { return bf16_decode(c); });
      return;
    case DType::kF16:
      load_each<uint16_t>(source, n, out, [](uint16_t c) { return f16_decode(c); });
      return;
    case DType::kF8E4M3:
      load_each<uint8_t>(source, n, out, [](uint8_t c) { return kE4m3Values[c]; });
      return;
    case DType::kF8E5M2:
      load_each<uint8_t>(source, n, out, [](uint8_t c) { return kE5m2Values[c]; });
      return;
    case DType::kF8E8M0:
      load_each<uint8_t>(source, n, out, [](uint8_t c) { return e8m0_decode(c); });
      return;
    case DType::kF64:
      load_each<double>(source, n, out, [](double c) { return static_cast<float>(c); });
      return;
    default:
      throw UsageError(fmt::format("{} elements cannot be read as float32", dtype_name(type)));
  }
}

void store_floats(DType type, const float* source, int64_t n, std::byte* out) {
  switch (type) {
    case DType::kF32:
      if (n > 0) std::memcpy(out, source, static_cast<size_t>(n) * sizeof(float));
      return;
    case DType::kBF16:
      store_each<uint16_t>(source, n, out, [](float x) { return bf16_encode(x); });
      return;
    case DType::kF16:
      store_each<uint16_t>(source, n, out, [](float x) { return f16_encode(x); });
      return;
    case DType::kF8E4M3:
      store_each<uint8_t>(source, n, out, [](float x) { return e4m3_encode(x); });
      return;
    case DType::kF8E5M2:
      store_each<uint8_t>(source, n, out, [](float x) { return e5m2_encode(x); });
      return;
    default:
      throw UsageError(fmt::format("float32 cannot be stored as {}", dtype_name(type)));
  }
}

}  // namespace hone
