#include "quant/method/rtn.h"

#include <cmath>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "core/base/rng.h"
#include "tests/reference/quant_formats.h"

namespace hone {
namespace {

std::vector<float> random_matrix(int64_t rows, int64_t cols, uint64_t seed) {
  Rng rng(seed);
  std::vector<float> values(static_cast<size_t>(rows * cols));
  for (float& v : values) v = static_cast<float>(0.02 * rng.normal());
  return values;
}

reference::Matrix as_matrix(const std::vector<float>& values, int64_t rows, int64_t cols) {
  return {rows, cols, {values.begin(), values.end()}};
}

struct Encoded {
  std::vector<std::byte> codes;
  std::vector<std::byte> scales;
};

// Encodes in slabs of `step` rows.
Encoded encode(
    const std::vector<float>& values,
    int64_t rows,
    int64_t cols,
    const RtnOptions& options,
    int64_t step,
    int threads
) {
  ThreadPool pool(threads);
  const EncodedSize size = encoded_size(options.format, rows, cols);
  Encoded out{
      std::vector<std::byte>(static_cast<size_t>(size.codes)),
      std::vector<std::byte>(static_cast<size_t>(size.block_scales))};
  for (int64_t row = 0; row < rows; row += step) {
    const int64_t n = std::min(step, rows - row);
    const RowSlab slab{
        DType::kF32, reinterpret_cast<const std::byte*>(values.data() + row * cols), n, cols, row};
    const EncodedSize before = encoded_size(options.format, row, cols);
    EXPECT_FALSE(rtn_encode(
        slab,
        options,
        out.codes.data() + before.codes,
        out.scales.data() + before.block_scales,
        pool
    ));
  }
  return out;
}

template <typename T>
void expect_bytes(const std::vector<std::byte>& found, const std::vector<T>& expected) {
  ASSERT_EQ(found.size(), expected.size() * sizeof(T));
  EXPECT_EQ(std::memcmp(found.data(), expected.data(), found.size()), 0);
}

TEST(Rtn, BlockFp8EqualsTheDefinitionOnRaggedShapes) {
  for (const auto& [rows, cols] : {std::pair<int64_t, int64_t>{300, 200}, {128, 128}, {1, 1}}) {
    const auto values = random_matrix(rows, cols, 5);
    for (const ScaleKind kind : {ScaleKind::kF32, ScaleKind::kUe8m0}) {
      RtnOptions options;
      options.scale_kind = kind;
      const Encoded found = encode(values, rows, cols, options, 128, 1);
      const auto expected =
          reference::block_fp8(as_matrix(values, rows, cols), kind == ScaleKind::kUe8m0);
      expect_bytes(found.codes, expected.codes);
      expect_bytes(found.scales, expected.scales);
    }
  }
}

TEST(Rtn, Nvfp4EqualsTheDefinition) {
  const auto values = random_matrix(130, 96, 6);
  RtnOptions options;
  options.format = Format::kNvfp4;
  options.global_scale = 0.000037F;
  const Encoded found = encode(values, 130, 96, options, 128, 1);
  const auto expected = reference::nvfp4(as_matrix(values, 130, 96), options.global_scale);
  expect_bytes(found.codes, expected.codes);
  expect_bytes(found.scales, expected.scales);
}

TEST(Rtn, SlabsAndThreadsDoNotChangeTheBytes) {
  const auto values = random_matrix(700, 320, 8);
  for (const Format format : {Format::kBlockFp8, Format::kNvfp4}) {
    RtnOptions options;
    options.format = format;
    options.global_scale = 0.00003F;
    const Encoded whole = encode(values, 700, 320, options, 700, 1);
    for (const int64_t step : {128, 256, 640}) {
      const Encoded cut = encode(values, 700, 320, options, step, 3);
      EXPECT_EQ(cut.codes, whole.codes);
      EXPECT_EQ(cut.scales, whole.scales);
    }
  }
}

TEST(Rtn, AllZeroBlocks) {
  const std::vector<float> values(256 * 128, 0.0F);
  RtnOptions options;
  const Encoded fp8 = encode(values, 256, 128, options, 128, 1);
  for (const std::byte b : fp8.codes) EXPECT_EQ(b, std::byte{0});
  float scale = 0;
  std::memcpy(&scale, fp8.scales.data(), 4);
  EXPECT_EQ(scale, 1.0F);
  options.format = Format::kNvfp4;
  const Encoded fp4 = encode(values, 256, 128, options, 128, 1);
  for (const std::byte b : fp4.codes) EXPECT_EQ(b, std::byte{0});
  for (const std::byte b : fp4.scales) EXPECT_EQ(b, std::byte{0x38});
}

TEST(Rtn, ReportsTheFirstNonFiniteOfBlockFp8) {
  auto values = random_matrix(256, 128, 9);
  values[200 * 128 + 7] = std::numeric_limits<float>::infinity();
  values[201 * 128 + 3] = std::numeric_limits<float>::quiet_NaN();
  std::vector<std::byte> codes(256 * 128);
  std::vector<std::byte> scales(8);
  ThreadPool pool(2);
  const auto bad = rtn_encode(
      {DType::kF32, reinterpret_cast<const std::byte*>(values.data()), 256, 128, 0},
      {},
      codes.data(),
      scales.data(),
      pool
  );
  ASSERT_TRUE(bad.has_value());
  EXPECT_EQ(bad->row, 200);
  EXPECT_EQ(bad->col, 7);
}

TEST(Rtn, EncodedSizes) {
  EXPECT_EQ(encoded_size(Format::kBlockFp8, 300, 200).codes, 300 * 200);
  EXPECT_EQ(encoded_size(Format::kBlockFp8, 300, 200).block_scales, 3 * 2 * 4);
  EXPECT_EQ(encoded_size(Format::kNvfp4, 300, 208).codes, 300 * 104);
  EXPECT_EQ(encoded_size(Format::kNvfp4, 300, 208).block_scales, 300 * 13);
}

}  // namespace
}  // namespace hone
