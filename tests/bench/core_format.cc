// Encoders and decoders against memcpy, in bytes of BF16 weights per second. The argument is the
// number of threads.
#include <cstring>
#include <vector>

#include <benchmark/benchmark.h>

#include "core/base/rng.h"
#include "core/format/block_fp8.h"
#include "core/format/load.h"
#include "core/format/nvfp4.h"

namespace hone {
namespace {

constexpr int64_t kRows = 4096;
constexpr int64_t kCols = 4096;

const Tensor& weight() {
  static const Tensor matrix = [] {
    Rng rng(1);
    std::vector<float> values(kRows * kCols);
    for (float& value : values) value = static_cast<float>(rng.normal() * 0.02);
    Tensor tensor(DType::kBF16, {kRows, kCols});
    store_floats(DType::kBF16, values.data(), kRows * kCols, tensor.bytes());
    return tensor;
  }();
  return matrix;
}

RowSlab slab() {
  return RowSlab::of(weight().view());
}

void report(benchmark::State& state) {
  state.SetBytesProcessed(state.iterations() * kRows * kCols * 2);
}

void copy_bytes(benchmark::State& state) {
  ThreadPool pool(static_cast<int>(state.range(0)));
  std::vector<std::byte> out(kRows * kCols * 2);
  const RowSlab source = slab();
  for (auto _ : state) {
    pool.parallel_for(kRows, 16, [&](int64_t begin, int64_t end) {
      const int64_t row = source.row_bytes();
      std::memcpy(
          out.data() + begin * row, source.row(begin), static_cast<size_t>((end - begin) * row)
      );
    });
    benchmark::DoNotOptimize(out.data());
  }
  report(state);
}

void amax(benchmark::State& state) {
  ThreadPool pool(static_cast<int>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(slab_amax(slab(), pool));
  report(state);
}

void encode_fp8(benchmark::State& state) {
  ThreadPool pool(static_cast<int>(state.range(0)));
  const BlockFp8Rule rule{state.range(1) == 0 ? Fp8Scale::kAmax : Fp8Scale::kPowerOfTwo};
  std::vector<uint8_t> codes(kRows * kCols);
  std::vector<float> scales(fp8_blocks(kRows) * fp8_blocks(kCols));
  for (auto _ : state) {
    benchmark::DoNotOptimize(block_fp8_encode(slab(), rule, codes.data(), scales.data(), pool));
  }
  report(state);
}

void encode_nvfp4(benchmark::State& state) {
  ThreadPool pool(static_cast<int>(state.range(0)));
  const float g = nvfp4_global_scale(slab_amax(slab(), pool).amax);
  std::vector<uint8_t> codes(kRows * kCols / 2);
  std::vector<uint8_t> scales(kRows * kCols / kNvfp4Block);
  for (auto _ : state) {
    nvfp4_encode(slab(), g, codes.data(), scales.data(), pool);
    benchmark::DoNotOptimize(codes.data());
  }
  report(state);
}

// Rows to float32, one thread.
void decode(benchmark::State& state, const QuantizedTensor& tensor) {
  std::vector<float> row(kCols);
  for (auto _ : state) {
    for (int64_t r = 0; r < kRows; ++r) {
      dequantize_rows(tensor, r, 1, row.data());
      benchmark::DoNotOptimize(row.data());
    }
  }
  report(state);
}
void decode_fp8(benchmark::State& state) {
  ThreadPool pool(1);
  decode(state, quantize_block_fp8(weight().view(), {}, "w", pool));
}
void decode_nvfp4(benchmark::State& state) {
  ThreadPool pool(1);
  decode(state, quantize_nvfp4(weight().view(), 1e-4F, "w", pool));
}

// One thread by its CPU time, which other programs disturb least; two threads by the clock.
BENCHMARK(copy_bytes)->Arg(1);
BENCHMARK(amax)->Arg(1);
BENCHMARK(encode_fp8)->ArgsProduct({{1}, {0, 1}})->ArgNames({"threads", "power"});
BENCHMARK(encode_nvfp4)->Arg(1);
BENCHMARK(decode_fp8);
BENCHMARK(decode_nvfp4);
BENCHMARK(copy_bytes)->Arg(2)->UseRealTime();
BENCHMARK(encode_fp8)->ArgsProduct({{2}, {0, 1}})->ArgNames({"threads", "power"})->UseRealTime();
BENCHMARK(encode_nvfp4)->Arg(2)->UseRealTime();

}  // namespace
}  // namespace hone
