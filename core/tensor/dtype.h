// Element types: the only place that knows their names and sizes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace hone {

// Storage types of safetensors. kF4 counts elements of 4 bits (two in a byte); packed NVFP4 codes
// are stored on disk as kU8 by every dialect.
enum class DType : uint8_t {
  kF64,
  kF32,
  kF16,
  kBF16,
  kF8E4M3,
  kF8E5M2,
  kF8E8M0,
  kF4,
  kI64,
  kI32,
  kI16,
  kI8,
  kU64,
  kU32,
  kU16,
  kU8,
  kBool,
};

// Size of one element in bits.
int dtype_bits(DType type);
// The name in safetensors headers ("BF16", "F8_E4M3", ...).
std::string_view dtype_name(DType type);
// Inverse of dtype_name; nullopt for unknown names.
std::optional<DType> parse_dtype(std::string_view name);
// The name in config.json's torch_dtype ("bfloat16"); throws UsageError for types without one.
std::string_view torch_dtype_name(DType type);
[[nodiscard]] bool is_float(DType type);

}  // namespace hone
