#include "runtime/op/matmul.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/format/fp8_scaled.h"
#include "core/format/mx.h"
#include "tests/reference/ops.h"
#include "tests/reference/tolerance.h"
#include "tests/runtime/op/random_data.h"

namespace hone {
namespace {

using testing_op::cpu_isas;
using testing_op::Environment;
using testing_op::first_difference;
using testing_op::random_floats;
using testing_op::random_weight;

constexpr WeightFormat kFormats[] = {
    WeightFormat::kF32,
    WeightFormat::kBF16,
    WeightFormat::kF16,
    WeightFormat::kBlockFp8,
    WeightFormat::kNvfp4};

struct Size {
  int64_t n;
  int64_t k;
};

std::vector<float> decoded(const LinearWeight& weight) {
  std::vector<float> out(static_cast<size_t>(weight.n() * weight.k()));
  weight.decode_rows(0, weight.n(), out);
  return out;
}

// Sizes with every kind of remainder; NVFP4 has K in groups of 16.
std::vector<Size> sizes(WeightFormat format) {
  std::vector<Size> all = {{1, 16}, {7, 48}, {131, 272}, {50, 1024}, {13, 2096}};
  if (format != WeightFormat::kNvfp4) {
    const std::vector<Size> ragged = {{1, 1}, {3, 17}, {129, 131}, {53, 1030}, {9, 2079}};
    all.insert(all.end(), ragged.begin(), ragged.end());
  }
  return all;
}

class MatmulFormat : public ::testing::TestWithParam<WeightFormat> {};
INSTANTIATE_TEST_SUITE_P(All, MatmulFormat, ::testing::ValuesIn(kFormats), [](const auto& format) {
  std::string name(weight_format_name(format.param));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

// The documented order, spelled out with std::fma over the dequantized weight, bit for bit.
TEST_P(MatmulFormat, GivesTheCanonicalBits) {
  for (const Size size : sizes(GetParam())) {
    const LinearWeight weight = random_weight(GetParam(), size.n, size.k, 7);
    const std::vector<float> w = decoded(weight);
    for (const int64_t rows : {1, 2, 3, 4, 5, 6, 7, 8, 9}) {
      const std::vector<float> x = random_floats(static_cast<size_t>(rows * size.k), 11);
      std::vector<float> expected(static_cast<size_t>(rows * size.n));
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t n = 0; n < size.n; ++n) {
          expected[r * size.n + n] =
              reference::canonical_dot(&x[r * size.k], &w[n * size.k], size.k);
        }
      }
      for (const CpuIsa isa : cpu_isas()) {
        const Environment environment(isa, 2);
        std::vector<float> y(expected.size(), NAN);
        matmul(weight, x, y);
        ASSERT_EQ(first_difference(y, expected), -1)
            << kernel_name(weight.desc(), rows) << " n " << size.n << " k " << size.k << " rows "
            << rows;
      }
    }
  }
}

TEST_P(MatmulFormat, IsAsExactAsDerived) {
  const LinearWeight weight = random_weight(GetParam(), 37, 2064, 3);
  const std::vector<float> x = random_floats(3 * 2064, 5);
  std::vector<float> y(3 * 37);
  matmul(weight, x, y);
  reference::Doubles norms;
  const reference::Doubles expected = reference::matmul(
      reference::to_double(x), reference::to_double(decoded(weight)), 37, 2064, &norms
  );
  for (size_t i = 0; i < y.size(); ++i) {
    EXPECT_NEAR(y[i], expected[i], reference::dot_tolerance(2064, norms[i])) << i;
  }
}

// A row's result is the same whatever the number of rows in the call, the threads and the ISA.
TEST_P(MatmulFormat, DoesNotDependOnRowsThreadsOrIsa) {
  const Size size = GetParam() == WeightFormat::kNvfp4 ? Size{203, 1168} : Size{203, 1171};
  const LinearWeight weight = random_weight(GetParam(), size.n, size.k, 21);
  constexpr int64_t kMost = 520;  // more than one packed chunk
  const std::vector<float> x = random_floats(static_cast<size_t>(kMost * size.k), 22);
  std::vector<float> expected(static_cast<size_t>(kMost * size.n));
  {
    const Environment environment(CpuIsa::kAvx2, 1);
    for (int64_t r = 0; r < kMost; ++r) {
      matmul(
          weight,
          std::span(x).subspan(static_cast<size_t>(r * size.k), static_cast<size_t>(size.k)),
          std::span(expected).subspan(static_cast<size_t>(r * size.n), static_cast<size_t>(size.n))
      );
    }
  }
  for (const CpuIsa isa : cpu_isas()) {
    for (const int threads : {1, 2, 3}) {
      const Environment environment(isa, threads);
      for (const int64_t rows : {1, 2, 5, 8, 16, 512, 520}) {
        std::vector<float> y(static_cast<size_t>(rows * size.n), NAN);
        matmul(weight, std::span(x).first(static_cast<size_t>(rows * size.k)), y);
        ASSERT_EQ(first_difference(y, std::span(expected).first(y.size())), -1)
            << kernel_name(weight.desc(), rows) << " rows " << rows << " threads " << threads;
      }
    }
  }
}

// A quantized matmul is bit for bit the dense one of the dequantized weight.
TEST_P(MatmulFormat, EqualsDenseMatmulOfTheDecodedWeight) {
  const LinearWeight weight = random_weight(GetParam(), 130, 384, 31);
  const LinearWeight dense =
      LinearWeight::dense(testing_op::float_tensor(decoded(weight), {130, 384}));
  for (const int64_t rows : {1, 4, 33}) {
    const std::vector<float> x = random_floats(static_cast<size_t>(rows * 384), 32);
    std::vector<float> y(static_cast<size_t>(rows * 130));
    std::vector<float> z(y.size());
    matmul(weight, x, y);
    matmul(dense, x, z);
    EXPECT_EQ(first_difference(y, z), -1) << rows;
  }
}

// Every code under every block scale, subnormals and negative zero included.
TEST(Matmul, DecodesEveryNvfp4Code) {
  QuantizedTensor q;
  q.format = Format::kNvfp4;
  q.rows = 127;
  q.cols = 16;
  q.codes = Tensor(DType::kU8, {127, 8});
  q.block_scales = Tensor(DType::kF8E4M3, {127, 1});
  q.global.value = 0.00123F;
  for (int64_t row = 0; row < q.rows; ++row) {
    q.block_scales.bytes()[row] = static_cast<std::byte>(row);
    for (int i = 0; i < 8; ++i) {
      q.codes.bytes()[row * 8 + i] = static_cast<std::byte>((2 * i) | ((2 * i + 1) << 4));
    }
  }
  const LinearWeight weight = LinearWeight::quantized(q, "all codes");
  const std::vector<float> w = decoded(weight);
  for (const CpuIsa isa : cpu_isas()) {
    const Environment environment(isa, 1);
    for (const int64_t rows : {1, 6, 9}) {
      for (int64_t column = 0; column < 16; ++column) {
        std::vector<float> x(static_cast<size_t>(rows * 16), 0.0F);
        for (int64_t r = 0; r < rows; ++r) x[r * 16 + column] = 1.0F;
        std::vector<float> y(static_cast<size_t>(rows * 127));
        matmul(weight, x, y);
        for (int64_t n = 0; n < 127; ++n) {
          ASSERT_EQ(y[n], w[n * 16 + column]) << "scale " << n << " code " << column;
          ASSERT_EQ(y[(rows - 1) * 127 + n], y[n]);
        }
      }
    }
  }
}

TEST(Matmul, DecodesEveryFiniteFp8Code) {
  QuantizedTensor q;
  q.rows = 1;
  q.cols = 256;
  q.codes = Tensor(DType::kF8E4M3, {1, 256});
  q.block_scales = Tensor(DType::kF32, {1, 2});
  q.block_scales.as<float>()[0] = 0.37F;
  q.block_scales.as<float>()[1] = 3.1e-5F;
  for (int code = 0; code < 256; ++code) {
    const int finite = (code & 0x7F) == 0x7F ? 0 : code;
    q.codes.bytes()[code] = static_cast<std::byte>(finite);
  }
  const LinearWeight weight = LinearWeight::quantized(q, "all codes");
  const std::vector<float> w = decoded(weight);
  for (const CpuIsa isa : cpu_isas()) {
    const Environment environment(isa, 1);
    std::vector<float> x(256 * 256, 0.0F);
    for (int64_t i = 0; i < 256; ++i) x[i * 257] = 1.0F;
    std::vector<float> all(256);
    matmul(weight, x, all);
    for (int64_t i = 0; i < 256; ++i) {
      ASSERT_EQ(all[i], w[i]) << "code " << i;  // by value: a sum that starts at +0 has no -0
      float one = NAN;
      matmul(weight, std::span(x).subspan(static_cast<size_t>(i * 256), 256), {&one, 1});
      ASSERT_EQ(one, w[i]) << i;
    }
  }
}

TEST(Matmul, TakesMisalignedMappings) {
  const LinearWeight aligned = random_weight(WeightFormat::kBlockFp8, 140, 200, 41);
  const QuantizedTensor& source = *aligned.quantized_tensor();
  const auto owner = std::make_shared<std::vector<std::byte>>(1 << 16);
  const auto place = [&](const Tensor& tensor, size_t offset) {
    std::memcpy(owner->data() + offset, tensor.bytes(), static_cast<size_t>(tensor.nbytes()));
    return Tensor::borrow({tensor.type(), tensor.shape(), owner->data() + offset}, owner);
  };
  QuantizedTensor moved = source;
  moved.block_scales = place(source.block_scales, 1);
  moved.codes = place(source.codes, 4097);
  const LinearWeight weight = LinearWeight::quantized(moved, "moved");
  const std::vector<float> x = random_floats(200, 42);
  std::vector<float> y(140);
  std::vector<float> z(140);
  matmul(weight, x, y);
  matmul(aligned, x, z);
  EXPECT_EQ(first_difference(y, z), -1);
}

TEST(Matmul, FormatsWithoutAKernelAreDecodedOnce) {
  const std::vector<float> values = random_floats(12 * 64, 43);
  Tensor matrix(DType::kF32, {12, 64});
  std::copy(values.begin(), values.end(), matrix.as<float>().data());
  ThreadPool& pool = ThreadPool::global();
  QuantizedTensor channel = quantize_fp8_channel(matrix.view(), "w", pool);
  // Scales at an odd address, as a mapping may hold them.
  const auto owner = std::make_shared<std::vector<std::byte>>(256);
  const Tensor& scales = channel.block_scales;
  std::memcpy(owner->data() + 1, scales.bytes(), static_cast<size_t>(scales.nbytes()));
  QuantizedTensor moved = channel;
  moved.block_scales = Tensor::borrow({DType::kF32, {12, 1}, owner->data() + 1}, owner);
  for (const QuantizedTensor& tensor :
       {channel,
        quantize_fp8_tensor(matrix.view(), 0.01F, "w", pool),
        quantize_mx(matrix.view(), {Format::kMxfp4}, "w", pool),
        quantize_mx(matrix.view(), {Format::kMxfp8}, "w", pool)}) {
    const LinearWeight weight = LinearWeight::quantized(tensor, "w");
    EXPECT_EQ(weight.desc(), (MatmulDesc{WeightFormat::kF32, 12, 64}));
    EXPECT_EQ(weight.stored_bytes(), 12 * 64 * 4);
    std::vector<float> expected(12 * 64);
    dequantize_rows(tensor, 0, 12, expected.data());
    std::vector<float> decoded(12 * 64);
    weight.decode_rows(0, 12, decoded);
    EXPECT_EQ(first_difference(decoded, expected), -1);
  }
  std::vector<float> aligned(12 * 64);
  std::vector<float> misaligned(12 * 64);
  LinearWeight::quantized(channel, "w").decode_rows(0, 12, aligned);
  LinearWeight::quantized(moved, "w").decode_rows(0, 12, misaligned);
  EXPECT_EQ(first_difference(misaligned, aligned), -1);
}

TEST(Matmul, PropagatesNanAndInfinity) {
  const LinearWeight weight = random_weight(WeightFormat::kBF16, 20, 64, 51);
  for (const int64_t rows : {1, 8, 12}) {
    std::vector<float> x = random_floats(static_cast<size_t>(rows * 64), 52);
    x[3] = NAN;
    std::vector<float> y(static_cast<size_t>(rows * 20));
    matmul(weight, x, y);
    EXPECT_TRUE(std::isnan(y[0]));
    EXPECT_TRUE(std::isnan(y[19]));
    if (rows > 1) {
      EXPECT_FALSE(std::isnan(y[20])) << "another row's NaN leaked";
    }
  }
}

TEST(Matmul, NamesItsKernels) {
  const MatmulDesc desc{WeightFormat::kNvfp4, 8, 32};
  const Environment environment(CpuIsa::kAvx2, 1);
  EXPECT_EQ(kernel_name(desc, 1), "nvfp4 matvec avx2");
  EXPECT_EQ(kernel_name(desc, 8), "nvfp4 small-batch avx2");
  EXPECT_EQ(kernel_name(desc, 9), "nvfp4 tiled avx2");
  EXPECT_TRUE(supports(desc));
  EXPECT_FALSE(supports({WeightFormat::kNvfp4, 8, 24}));
  EXPECT_FALSE(supports({WeightFormat::kF32, 0, 24}));
  EXPECT_EQ(kernel_name({WeightFormat::kNvfp4, 8, 24}, 1), "unsupported");
}

TEST(Matmul, RefusesWhatDoesNotFit) {
  const LinearWeight weight = random_weight(WeightFormat::kF32, 4, 8, 61);
  std::vector<float> x(16);
  std::vector<float> y(7);
  EXPECT_THROW(matmul(weight, x, y), UsageError);
  EXPECT_THROW(matmul(weight, std::span(x).first(9), std::span(y).first(4)), UsageError);
  EXPECT_THROW(matmul(LinearWeight(), x, y), UsageError);
  EXPECT_NO_THROW(matmul(weight, {}, {}));
  EXPECT_THROW(LinearWeight::dense(Tensor(DType::kI64, {2, 2})), UsageError);
  EXPECT_THROW(LinearWeight::dense(Tensor(DType::kF32, {4})), UsageError);
  QuantizedTensor broken = *random_weight(WeightFormat::kBlockFp8, 4, 8, 62).quantized_tensor();
  broken.block_scales = Tensor(DType::kF32, {2, 2});
  EXPECT_THAT(
      [&] { LinearWeight::quantized(broken, "model.layers.0.mlp.up_proj"); },
      ::testing::ThrowsMessage<DataError>(::testing::HasSubstr("model.layers.0.mlp.up_proj"))
  );
  std::vector<float> rows(16);
  EXPECT_THROW(weight.decode_rows(3, 2, rows), UsageError);
}

}  // namespace
}  // namespace hone
