#include "core/format/load.h"

#include <vector>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/rng.h"
#include "core/format/bf16.h"
#include "core/format/e8m0.h"
#include "core/format/f16.h"
#include "core/format/fp8.h"
#include "tests/core/format/golden_vectors.h"
#include "tests/core/format/isa_param.h"

namespace hone {
namespace {

class Load : public IsaTest {};

// Every code of a type, at an odd address, in one call.
template <typename Code>
std::vector<float> load_all(DType type) {
  const int64_t count = int64_t{1} << (8 * sizeof(Code));
  std::vector<std::byte> bytes(static_cast<size_t>(count) * sizeof(Code) + 1);
  for (int64_t i = 0; i < count; ++i) {
    const auto code = static_cast<Code>(i);
    std::memcpy(bytes.data() + 1 + i * static_cast<int64_t>(sizeof(Code)), &code, sizeof code);
  }
  std::vector<float> out(static_cast<size_t>(count));
  load_floats(type, bytes.data() + 1, count, out.data());
  return out;
}

void expect_same(const std::vector<float>& got, float (*decode)(int)) {
  for (size_t i = 0; i < got.size(); ++i) {
    const float expected = decode(static_cast<int>(i));
    EXPECT_EQ(float_bits(got[i]), float_bits(expected)) << i;
  }
}

TEST_P(Load, EveryCodeOfEveryType) {
  expect_same(load_all<uint16_t>(DType::kBF16), [](int c) { return bf16_decode(uint16_t(c)); });
  expect_same(load_all<uint16_t>(DType::kF16), [](int c) { return f16_decode(uint16_t(c)); });
  expect_same(load_all<uint8_t>(DType::kF8E4M3), [](int c) { return e4m3_decode(uint8_t(c)); });
  expect_same(load_all<uint8_t>(DType::kF8E5M2), [](int c) { return e5m2_decode(uint8_t(c)); });
  expect_same(load_all<uint8_t>(DType::kF8E8M0), [](int c) { return e8m0_decode(uint8_t(c)); });
}

TEST_P(Load, WideTypes) {
  const std::vector<double> wide = {1.0, -2.5, 1e-300, 1e300, 1.0 + 0x1p-24};
  std::vector<float> out(wide.size());
  load_floats(DType::kF64, reinterpret_cast<const std::byte*>(wide.data()), 5, out.data());
  EXPECT_EQ(out, (std::vector<float>{1.0F, -2.5F, 0.0F, INFINITY, 1.0F}));
  load_floats(DType::kF32, reinterpret_cast<const std::byte*>(out.data()), 0, nullptr);
}

TEST_P(Load, EveryLengthLeavesTheRestAlone) {
  for (int64_t n = 0; n <= 40; ++n) {
    std::vector<uint16_t> codes(static_cast<size_t>(n), 0x3F80);
    std::vector<float> out(static_cast<size_t>(n) + 1, -7.0F);
    load_floats(DType::kBF16, reinterpret_cast<const std::byte*>(codes.data()), n, out.data());
    for (int64_t i = 0; i < n; ++i) EXPECT_EQ(out[i], 1.0F);
    EXPECT_EQ(out[n], -7.0F);
  }
}

TEST_P(Load, StoreRoundsLikeTheScalarCodecs) {
  Rng rng(11);
  std::vector<float> x;
  for (float value : golden_floats("inputs")) x.push_back(value);
  for (int i = 0; i < 20001; ++i) x.push_back(bits_as<float>(rng.next_u32()));
  for (const float nan : {NAN, -NAN, bits_as<float>(0x7F800001U)}) x.push_back(nan);
  const auto n = static_cast<int64_t>(x.size());
  std::vector<uint16_t> words(x.size());
  auto* out = reinterpret_cast<std::byte*>(words.data());
  store_floats(DType::kBF16, x.data(), n, out);
  for (int64_t i = 0; i < n; ++i) EXPECT_EQ(words[i], bf16_encode(x[i])) << x[i];
  store_floats(DType::kF16, x.data(), n, out);
  for (int64_t i = 0; i < n; ++i) EXPECT_EQ(words[i], f16_encode(x[i])) << x[i];
  const auto* bytes = reinterpret_cast<const uint8_t*>(words.data());
  store_floats(DType::kF8E4M3, x.data(), n, out);
  for (int64_t i = 0; i < n; ++i) EXPECT_EQ(bytes[i], e4m3_encode(x[i])) << x[i];
  store_floats(DType::kF8E5M2, x.data(), n, out);
  for (int64_t i = 0; i < n; ++i) EXPECT_EQ(bytes[i], e5m2_encode(x[i])) << x[i];
}

TEST_P(Load, OtherTypesAreRefused) {
  EXPECT_THROW(load_floats(DType::kI32, nullptr, 0, nullptr), UsageError);
  EXPECT_THROW(load_floats(DType::kF4, nullptr, 0, nullptr), UsageError);
  EXPECT_THROW(store_floats(DType::kF64, nullptr, 0, nullptr), UsageError);
}

HONE_INSTANTIATE_ISA(Load);

}  // namespace
}  // namespace hone
