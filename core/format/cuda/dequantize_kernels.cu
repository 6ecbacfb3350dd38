#include "core/format/bf16.h"
#include "core/format/cuda/dequantize_kernels.h"
#include "core/format/fp4.h"
#include "core/format/fp8.h"

namespace hone {
namespace {

constexpr int kThreads = 256;
// Elements of one thread: a run of 16 codes shares a scale in both formats.
constexpr int kRun = 16;
constexpr int64_t kFp8Edge = 128;
constexpr int64_t kMaxGrid = 1 << 20;

__device__ void put(float* out, int64_t at, float value) {
  out[at] = value;
}
__device__ void put(uint16_t* out, int64_t at, float value) {
  out[at] = bf16_encode(value);
}

// Sixteen values to out[at ...], as wide stores where the address allows.
__device__ void put_run(float* out, int64_t at, const float (&values)[kRun]) {
  float* to = out + at;
  if (reinterpret_cast<uintptr_t>(to) % 16 == 0) {
    for (int i = 0; i < kRun; i += 4) {
      reinterpret_cast<float4*>(to + i)[0] =
          make_float4(values[i], values[i + 1], values[i + 2], values[i + 3]);
    }
  } else {
    for (int i = 0; i < kRun; ++i) put(out, at + i, values[i]);
  }
}
__device__ void put_run(uint16_t* out, int64_t at, const float (&values)[kRun]) {
  uint16_t* to = out + at;
  if (reinterpret_cast<uintptr_t>(to) % 16 == 0) {
    uint32_t packed[kRun / 2];
    for (int i = 0; i < kRun / 2; ++i) {
      packed[i] = bf16_encode(values[2 * i]) | uint32_t{bf16_encode(values[2 * i + 1])} << 16;
    }
    reinterpret_cast<uint4*>(to)[0] = make_uint4(packed[0], packed[1], packed[2], packed[3]);
    reinterpret_cast<uint4*>(to)[1] = make_uint4(packed[4], packed[5], packed[6], packed[7]);
  } else {
    for (int i = 0; i < kRun; ++i) put(out, at + i, values[i]);
  }
}

// One thread decodes a run of 16 columns of a row; the last run of a row may be shorter. Products
// are single roundings: there is no addition that the compiler could fuse.
template <typename Out>
__global__ void block_fp8_kernel(FlatBlockFp8 source, Out* out) {
  const int64_t runs = (source.cols + kRun - 1) / kRun;
  const int64_t across = (source.cols + kFp8Edge - 1) / kFp8Edge;
  const int64_t total = source.rows * runs;
  const int64_t stride = int64_t{gridDim.x} * kThreads;
  for (int64_t t = int64_t{blockIdx.x} * kThreads + threadIdx.x; t < total; t += stride) {
    const int64_t row = t / runs;
    const int64_t col = t % runs * kRun;
    const int64_t at = row * source.cols + col;
    const float scale = source.scales[(source.row0 + row) / kFp8Edge * across + col / kFp8Edge];
    const uint8_t* codes = source.codes + at;
    if (col + kRun <= source.cols && reinterpret_cast<uintptr_t>(codes) % 16 == 0) {
      const uint4 word = reinterpret_cast<const uint4*>(codes)[0];
      const uint32_t words[4] = {word.x, word.y, word.z, word.w};
      float values[kRun];
      for (int i = 0; i < kRun; ++i) {
        values[i] = e4m3_decode(static_cast<uint8_t>(words[i / 4] >> (i % 4 * 8))) * scale;
      }
      put_run(out, at, values);
    } else {
      for (int64_t i = 0; i < kRun && col + i < source.cols; ++i) {
        put(out, at + i, e4m3_decode(codes[i]) * scale);
      }
    }
  }
}

// One thread decodes one block of 16.
template <typename Out>
__global__ void nvfp4_kernel(FlatNvfp4 source, Out* out) {
  const int64_t stride = int64_t{gridDim.x} * kThreads;
  for (int64_t b = int64_t{blockIdx.x} * kThreads + threadIdx.x; b < source.blocks; b += stride) {
    const float block = e4m3_decode(source.scales[b]);
    const float scale = source.divisor ? __fdiv_rn(block, source.g) : block * source.g;
    const uint8_t* codes = source.codes + b * (kRun / 2);
    float values[kRun];
    for (int i = 0; i < kRun; ++i) values[i] = e2m1_decode(fp4_get(codes, i)) * scale;
    put_run(out, b * kRun, values);
  }
}

int grid_for(int64_t threads) {
  const int64_t blocks = (threads + kThreads - 1) / kThreads;
  return static_cast<int>(blocks < kMaxGrid ? blocks : kMaxGrid);
}

}  // namespace

void launch_block_fp8_decode(
    const FlatBlockFp8& source, DecodedType type, void* out, CudaStreamHandle stream
) {
  const int grid = grid_for(source.rows * ((source.cols + kRun - 1) / kRun));
  if (grid == 0) return;
  if (type == DecodedType::kF32) {
    block_fp8_kernel<<<grid, kThreads, 0, stream>>>(source, static_cast<float*>(out));
  } else {
    block_fp8_kernel<<<grid, kThreads, 0, stream>>>(source, static_cast<uint16_t*>(out));
  }
}

void launch_nvfp4_decode(
    const FlatNvfp4& source, DecodedType type, void* out, CudaStreamHandle stream
) {
  const int grid = grid_for(source.blocks);
  if (grid == 0) return;
  if (type == DecodedType::kF32) {
    nvfp4_kernel<<<grid, kThreads, 0, stream>>>(source, static_cast<float*>(out));
  } else {
    nvfp4_kernel<<<grid, kThreads, 0, stream>>>(source, static_cast<uint16_t*>(out));
  }
}

}  // namespace hone
