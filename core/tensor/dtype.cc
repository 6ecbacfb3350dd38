#include "core/tensor/dtype.h"

#include <array>

#include "core/base/error.h"

namespace hone {
namespace {

struct Row {
  DType type;
  int bits;
  bool is_float;
  std::string_view name;
  std::string_view torch;  // "" where torch_dtype has no such name
};

constexpr std::array<Row, 17> kRows = {{
    {DType::kF64, 64, true, "F64", "float64"},
    {DType::kF32, 32, true, "F32", "float32"},
    {DType::kF16, 16, true, "F16", "float16"},
    {DType::kBF16, 16, true, "BF16", "bfloat16"},
    {DType::kF8E4M3, 8, true, "F8_E4M3", "float8_e4m3fn"},
    {DType::kF8E5M2, 8, true, "F8_E5M2", "float8_e5m2"},
    {DType::kF8E8M0, 8, true, "F8_E8M0", "float8_e8m0fnu"},
    {DType::kF4, 4, true, "F4", ""},
    {DType::kI64, 64, false, "I64", "int64"},
    {DType::kI32, 32, false, "I32", "int32"},
    {DType::kI16, 16, false, "I16", "int16"},
    {DType::kI8, 8, false, "I8", "int8"},
    {DType::kU64, 64, false, "U64", "uint64"},
    {DType::kU32, 32, false, "U32", "uint32"},
    {DType::kU16, 16, false, "U16", "uint16"},
    {DType::kU8, 8, false, "U8", "uint8"},
    {DType::kBool, 8, false, "BOOL", "bool"},
}};

const Row& row(DType type) {
  const auto index = static_cast<size_t>(type);
  check(index < kRows.size() && kRows[index].type == type, "no such dtype: {}", index);
  return kRows[index];
}

}  // namespace

int dtype_bits(DType type) {
  return row(type).bits;
}

std::string_view dtype_name(DType type) {
  return row(type).name;
}

std::optional<DType> parse_dtype(std::string_view name) {
  for (const Row& candidate : kRows) {
    if (candidate.name == name) return candidate.type;
  }
  return std::nullopt;
}

std::string_view torch_dtype_name(DType type) {
  const Row& found = row(type);
  require(!found.torch.empty(), "{} has no torch_dtype name", found.name);
  return found.torch;
}

bool is_float(DType type) {
  return row(type).is_float;
}

}  // namespace hone
