#include "core/format/cuda/dequantize.h"

#include <vector>

#include <gtest/gtest.h>

#include "core/format/bf16.h"
#include "tests/core/format/matrix_data.h"

namespace hone {
namespace {

class CudaDequantize : public testing::Test {
 protected:
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "no GPU: nothing was tested";
    stream_ = std::make_unique<CudaStream>();
  }

  // A copy in device memory that starts `shift` bytes after an aligned address.
  CudaBuffer to_device(const void* data, int64_t bytes, int64_t shift) {
    std::vector<std::byte> padded(static_cast<size_t>(bytes + shift));
    std::memcpy(padded.data() + shift, data, static_cast<size_t>(bytes));
    CudaBuffer buffer(bytes + shift);
    buffer.upload(padded.data(), bytes + shift, *stream_);
    stream_->synchronize();
    return buffer;
  }

  // Runs decode(type, out) on the device for both types and compares with `expected`.
  template <typename Decode>
  void expect_decoded(const std::vector<float>& expected, Decode decode) {
    const auto count = static_cast<int64_t>(expected.size());
    CudaBuffer wide(count * 4);
    std::vector<float> floats(expected.size());
    decode(DType::kF32, wide.data());
    wide.download(floats.data(), count * 4, *stream_);
    CudaBuffer narrow(count * 2);
    std::vector<uint16_t> words(expected.size());
    decode(DType::kBF16, narrow.data());
    narrow.download(words.data(), count * 2, *stream_);
    stream_->synchronize();
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(bits_as<uint32_t>(floats[i]), bits_as<uint32_t>(expected[i])) << i;
      ASSERT_EQ(words[i], bf16_encode(expected[i])) << i;
    }
  }

  ThreadPool pool_{4};
  std::unique_ptr<CudaStream> stream_;
};

TEST_F(CudaDequantize, BlockFp8EqualsTheHost) {
  for (const auto& [rows, cols] :
       {std::pair(130, 272), {1, 1}, {257, 1000}, {64, 4096}, {3, 131}}) {
    for (const int64_t shift : {0, 1}) {
      const Tensor matrix = random_matrix(DType::kBF16, rows, cols, 41);
      const QuantizedTensor tensor = quantize_block_fp8(matrix.view(), {}, "w", pool_);
      const int64_t row0 = rows / 3;
      const int64_t count = rows - row0;
      std::vector<float> expected(static_cast<size_t>(count * cols));
      dequantize_rows(tensor, row0, count, expected.data());
      const CudaBuffer codes =
          to_device(tensor.codes.view().data + row0 * cols, count * cols, shift);
      const CudaBuffer scales =
          to_device(tensor.block_scales.view().data, tensor.block_scales.nbytes(), 0);
      expect_decoded(expected, [&](DType type, void* out) {
        cuda_block_fp8_decode(
            {codes.as<uint8_t>() + shift, scales.as<float>(), row0, count, cols},
            type,
            out,
            *stream_
        );
      });
    }
  }
}

TEST_F(CudaDequantize, Nvfp4EqualsTheHost) {
  for (const auto& [rows, cols] : {std::pair(1, 16), {7, 272}, {64, 4096}}) {
    for (const int64_t shift : {0, 1}) {
      const Tensor matrix = random_matrix(DType::kBF16, rows, cols, 42);
      const float g = nvfp4_global_scale(slab_amax(RowSlab::of(matrix.view()), pool_).amax);
      const QuantizedTensor tensor = quantize_nvfp4(matrix.view(), g, "w", pool_);
      std::vector<float> expected(static_cast<size_t>(rows * cols));
      dequantize_rows(tensor, 0, rows, expected.data());
      const CudaBuffer codes = to_device(tensor.codes.view().data, tensor.codes.nbytes(), shift);
      const CudaBuffer scales =
          to_device(tensor.block_scales.view().data, tensor.block_scales.nbytes(), shift);
      expect_decoded(expected, [&](DType type, void* out) {
        cuda_nvfp4_decode(
            {codes.as<uint8_t>() + shift, scales.as<uint8_t>() + shift, g, rows, cols},
            type,
            out,
            *stream_
        );
      });
    }
  }
}

TEST_F(CudaDequantize, WrongArgumentsAreRefused) {
  CudaBuffer out(64);
  EXPECT_THROW(cuda_block_fp8_decode({}, DType::kF16, out.data(), *stream_), UsageError);
  EXPECT_THROW(cuda_nvfp4_decode({.cols = 24}, DType::kF32, out.data(), *stream_), UsageError);
  EXPECT_NO_THROW(cuda_block_fp8_decode({}, DType::kF32, out.data(), *stream_));
}

}  // namespace
}  // namespace hone
