#include "core/tensor/dtype.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace hone {
namespace {

TEST(DTypeTest, NamesAndSizesAreThoseOfSafetensors) {
  struct Row {
    DType type;
    const char* name;
    int bits;
    bool floating;
  };
  const Row rows[] = {
      {DType::kF64, "F64", 64, true},
      {DType::kF32, "F32", 32, true},
      {DType::kF16, "F16", 16, true},
      {DType::kBF16, "BF16", 16, true},
      {DType::kF8E4M3, "F8_E4M3", 8, true},
      {DType::kF8E5M2, "F8_E5M2", 8, true},
      {DType::kF8E8M0, "F8_E8M0", 8, true},
      {DType::kF4, "F4", 4, true},
      {DType::kI64, "I64", 64, false},
      {DType::kI32, "I32", 32, false},
      {DType::kI16, "I16", 16, false},
      {DType::kI8, "I8", 8, false},
      {DType::kU64, "U64", 64, false},
      {DType::kU32, "U32", 32, false},
      {DType::kU16, "U16", 16, false},
      {DType::kU8, "U8", 8, false},
      {DType::kBool, "BOOL", 8, false},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(dtype_name(row.type), row.name);
    EXPECT_EQ(dtype_bits(row.type), row.bits) << row.name;
    EXPECT_EQ(is_float(row.type), row.floating) << row.name;
    EXPECT_EQ(parse_dtype(row.name), row.type);
  }
  for (const char* unknown : {"", "f32", "F8", "C64", "F32 "}) EXPECT_FALSE(parse_dtype(unknown));
}

TEST(DTypeTest, TorchNames) {
  EXPECT_EQ(torch_dtype_name(DType::kBF16), "bfloat16");
  EXPECT_EQ(torch_dtype_name(DType::kF16), "float16");
  EXPECT_EQ(torch_dtype_name(DType::kF32), "float32");
  EXPECT_EQ(torch_dtype_name(DType::kF8E4M3), "float8_e4m3fn");
  EXPECT_THROW((void)torch_dtype_name(DType::kF4), UsageError);
}

TEST(DTypeTest, ANumberThatIsNoTypeIsAnInternalError) {
  EXPECT_THROW((void)dtype_bits(static_cast<DType>(99)), InternalError);
}

}  // namespace
}  // namespace hone
