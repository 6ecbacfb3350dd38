#include "core/format/nvfp4.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/format/fp8.h"
#include "tests/core/format/golden_vectors.h"
#include "tests/core/format/isa_param.h"
#include "tests/core/format/matrix_data.h"

namespace hone {
namespace {

class Nvfp4Test : public IsaTest {
 protected:
  ThreadPool pool_{2};
};

float amax_of(const Tensor& matrix, ThreadPool& pool) {
  return slab_amax(RowSlab::of(matrix.view()), pool).amax;
}

TEST_P(Nvfp4Test, KnownVector) {
  // W = [6, -6, 0.5, -0.5, 0...] has g = 1/448, block scale 448 and codes 7, 15, 1, 9.
  Tensor matrix(DType::kF32, {1, 16});
  const float values[] = {6.0F, -6.0F, 0.5F, -0.5F};
  std::copy(values, values + 4, matrix.as<float>().data());
  const float g = nvfp4_global_scale(6.0F);
  EXPECT_FLOAT_EQ(g, 6.0F / 2688.0F);
  EXPECT_FLOAT_EQ(1.0F / g, 448.0F);
  const QuantizedTensor tensor = quantize_nvfp4(matrix.view(), g, "w", pool_);
  EXPECT_EQ(bytes_of(tensor.codes), (std::vector<uint8_t>{0xF7, 0x91, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(bytes_of(tensor.block_scales), (std::vector<uint8_t>{0x7E}));
}

TEST_P(Nvfp4Test, AgreesWithMlDtypes) {
  const auto& stored = golden("nvfp4.weight");
  const TensorView weight{
      DType::kF32, Shape{3, 48}, reinterpret_cast<const std::byte*>(stored.bytes.data())};
  const Tensor matrix = Tensor::copy_of(weight);
  const float g = nvfp4_global_scale(amax_of(matrix, pool_));
  EXPECT_EQ(g, golden_floats("nvfp4.global")[0]);
  const QuantizedTensor tensor = quantize_nvfp4(matrix.view(), g, "w", pool_);
  EXPECT_EQ(bytes_of(tensor.block_scales), golden_bytes("nvfp4.scales"));
  EXPECT_EQ(bytes_of(tensor.codes), golden_bytes("nvfp4.codes"));
  EXPECT_EQ(bytes_of(tensor.block_scales)[1], 0x38);  // the all-zero block
  EXPECT_EQ(bytes_of(tensor.block_scales)[3], 0x01);  // the tiny block lives
}

TEST_P(Nvfp4Test, AgreesWithTheNaiveEncoder) {
  for (const DType type : {DType::kBF16, DType::kF16, DType::kF32}) {
    for (const auto& [rows, cols] : {std::pair(1, 16), {3, 272}, {40, 512}, {7, 1040}}) {
      const Tensor matrix = random_matrix(type, rows, cols, 21);
      const float g = nvfp4_global_scale(amax_of(matrix, pool_));
      const QuantizedTensor got = quantize_nvfp4(matrix.view(), g, "w", pool_);
      const auto expected = reference::nvfp4(exact_values(matrix), g);
      EXPECT_EQ(bytes_of(got.block_scales), expected.scales);
      EXPECT_EQ(bytes_of(got.codes), expected.codes) << dtype_name(type) << rows << "x" << cols;
    }
  }
}

TEST_P(Nvfp4Test, DecodesInTheDocumentedOrder) {
  const Tensor matrix = random_matrix(DType::kF32, 5, 304, 22);
  const float g = nvfp4_global_scale(amax_of(matrix, pool_));
  QuantizedTensor tensor = quantize_nvfp4(matrix.view(), g, "w", pool_);
  const auto codes = bytes_of(tensor.codes);
  const auto scales = bytes_of(tensor.block_scales);
  std::vector<float> out(3 * 304);
  dequantize_rows(tensor, 1, 3, out.data());
  for (int64_t r = 0; r < 3; ++r) {
    for (int64_t c = 0; c < 304; ++c) {
      const int64_t at = (1 + r) * 304 + c;
      const auto step = static_cast<float>(reference::e4m3_value(scales[at / 16]) * g);
      const double code = reference::e2m1_value(codes[at / 2] >> (at % 2 * 4) & 15);
      EXPECT_EQ(out[r * 304 + c], static_cast<float>(code * step));
    }
  }
  // A divisor divides: what the reader of compressed-tensors does, rounded once as well.
  const float divisor = 1.0F / g;
  tensor.global = {divisor, true};
  dequantize_rows(tensor, 1, 3, out.data());
  for (int64_t r = 0; r < 3; ++r) {
    for (int64_t c = 0; c < 304; ++c) {
      const int64_t at = (1 + r) * 304 + c;
      const auto step = static_cast<float>(reference::e4m3_value(scales[at / 16]) / divisor);
      const double code = reference::e2m1_value(codes[at / 2] >> (at % 2 * 4) & 15);
      EXPECT_EQ(out[r * 304 + c], static_cast<float>(code * step));
    }
  }
}

TEST_P(Nvfp4Test, SlabsAndThreadsDoNotMatter) {
  const Tensor matrix = random_matrix(DType::kBF16, 301, 1024, 23);
  const float g = nvfp4_global_scale(amax_of(matrix, pool_));
  const QuantizedTensor whole = quantize_nvfp4(matrix.view(), g, "w", pool_);
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    std::vector<uint8_t> codes(301 * 512);
    std::vector<uint8_t> scales(301 * 64);
    for (int64_t row = 0; row < 301; row += 7) {
      nvfp4_encode(
          RowSlab::of(matrix.view()).slice(row, 7),
          g,
          codes.data() + row * 512,
          scales.data() + row * 64,
          pool
      );
    }
    EXPECT_EQ(codes, bytes_of(whole.codes));
    EXPECT_EQ(scales, bytes_of(whole.block_scales));
    std::vector<uint8_t> again(codes.size());
    nvfp4_encode_with_scales(RowSlab::of(matrix.view()), g, scales.data(), again.data(), pool);
    EXPECT_EQ(again, codes);
  }
}

TEST_P(Nvfp4Test, BlockScalesFollowTheRule) {
  EXPECT_EQ(nvfp4_block_scale(0.0F, 1.0F), 0x38);
  EXPECT_EQ(nvfp4_block_scale(1e-30F, 1.0F), 0x01);
  EXPECT_EQ(nvfp4_block_scale(6.0F, 1.0F), 0x38);
  EXPECT_EQ(nvfp4_block_scale(6.0F * 448.0F, 1.0F), 0x7E);
  EXPECT_EQ(nvfp4_block_scale(1e30F, 1.0F), 0x7E);
}

TEST_P(Nvfp4Test, GlobalScalesSurviveTheInversion) {
  Rng rng(24);
  for (int i = 0; i < 200'000; ++i) {
    // Positive finite floats of every exponent.
    const float amax = bits_as<float>(rng.next_u32() & 0x7FFFFFFFU);
    if (!std::isfinite(amax) || amax == 0.0F) continue;
    const float g = nvfp4_global_scale(amax);
    const float divisor = 1.0F / g;
    ASSERT_EQ(1.0F / divisor, g) << amax;
    ASSERT_TRUE(std::isnormal(g) && std::isnormal(divisor)) << amax;
    const float least = std::max(amax / 2688.0F, 0x1p-126F);
    ASSERT_GE(g, least);
    ASSERT_LE(g, least * (1.0F + 0x1p-20F));
  }
  EXPECT_EQ(nvfp4_global_scale(0.0F), 1.0F);
  EXPECT_EQ(nvfp4_global_scale(1e-40F), 0x1p-126F);
  EXPECT_THROW(nvfp4_global_scale(INFINITY), UsageError);
  EXPECT_THROW(nvfp4_global_scale(NAN), UsageError);
}

TEST_P(Nvfp4Test, BadInputIsRefused) {
  const Tensor odd(DType::kF32, {2, 24});
  EXPECT_THROW((void)quantize_nvfp4(odd.view(), 1.0F, "w", pool_), UsageError);
  const Tensor even(DType::kF32, {2, 32});
  for (const float g : {0.0F, -1.0F, INFINITY, NAN}) {
    EXPECT_THROW((void)quantize_nvfp4(even.view(), g, "w", pool_), UsageError);
  }
  Tensor bad(DType::kF32, {2, 32});
  bad.as<float>()[40] = NAN;
  try {
    (void)quantize_nvfp4(bad.view(), 1.0F, "lm_head.weight", pool_);
    FAIL();
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("lm_head.weight holds nan at [1, 8]"));
  }
}

HONE_INSTANTIATE_ISA(Nvfp4Test);

}  // namespace
}  // namespace hone
