// Matrix-vector products (decode) against the machine's own read bandwidth, in one run.
//
// Each format multiplies a ring of weights that together exceed the caches, as a decode step does.
// Counters: GB/s of stored weight bytes; of_bandwidth = that divided by the bandwidth of reading a
// buffer as large as the ring with the same threads, measured in turns with the product.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "core/base/rng.h"
#include "core/base/threads.h"
#include "core/device/simd.h"
#include "core/format/fp8.h"
#include "runtime/op/matmul.h"

namespace hone {
namespace {

constexpr int64_t kRingBytes = int64_t{640} << 20;

// A weight with random codes; scales are small positive numbers.
LinearWeight make_weight(WeightFormat format, int64_t n, int64_t k, uint64_t seed) {
  // One page of random words, repeated: random bits cost more than the products.
  Rng rng(seed);
  std::vector<uint64_t> page(8192);
  for (uint64_t& word : page) word = rng.next_u64();
  const auto fill = [&](Tensor& tensor, uint64_t mask, uint64_t set = 0) {
    auto* words = reinterpret_cast<uint64_t*>(tensor.bytes());
    for (int64_t i = 0; i < tensor.nbytes() / 8; ++i) words[i] = (page[i % 8192] & mask) | set;
  };
  switch (format) {
    case WeightFormat::kF32: {
      Tensor tensor(DType::kF32, {n, k});
      fill(tensor, 0x807FFFFF807FFFFFULL, 0x3F0000003F000000ULL);  // 1/2 to 1
      return LinearWeight::dense(tensor);
    }
    case WeightFormat::kBF16:
    case WeightFormat::kF16: {
      const bool bf16 = format == WeightFormat::kBF16;
      Tensor tensor(bf16 ? DType::kBF16 : DType::kF16, {n, k});
      // 1/2 to 1: exponents 126 of BF16, 14 of F16.
      if (bf16) {
        fill(tensor, 0x807F807F807F807FULL, 0x3F003F003F003F00ULL);
      } else {
        fill(tensor, 0x83FF83FF83FF83FFULL, 0x3800380038003800ULL);
      }
      return LinearWeight::dense(tensor);
    }
    case WeightFormat::kBlockFp8: {
      QuantizedTensor q;
      q.rows = n;
      q.cols = k;
      q.codes = Tensor(DType::kF8E4M3, {n, k});
      fill(q.codes, 0xBFBFBFBFBFBFBFBFULL);  // no NaN codes
      q.block_scales = Tensor(DType::kF32, {(n + 127) / 128, (k + 127) / 128});
      for (float& scale : q.block_scales.as<float>()) scale = 0.01F;
      return LinearWeight::quantized(q, "bench");
    }
    case WeightFormat::kNvfp4: {
      QuantizedTensor q;
      q.format = Format::kNvfp4;
      q.rows = n;
      q.cols = k;
      q.codes = Tensor(DType::kU8, {n, k / 2});
      fill(q.codes, ~0ULL);
      q.block_scales = Tensor(DType::kF8E4M3, {n, k / 16});
      fill(q.block_scales, 0x3F3F3F3F3F3F3F3FULL);
      q.global.value = 0.01F;
      return LinearWeight::quantized(q, "bench");
    }
  }
  return {};
}

// Seconds to read all of `buffer` once with all threads.
double read_seconds(const std::vector<float>& buffer) {
  const auto start = std::chrono::steady_clock::now();
  ThreadPool::global()
      .parallel_for(static_cast<int64_t>(buffer.size()), 1 << 18, [&](int64_t begin, int64_t end) {
        avx2::f32x16 sums[4] = {avx2::zero(), avx2::zero(), avx2::zero(), avx2::zero()};
        for (int64_t i = begin; i + 64 <= end; i += 64) {
          for (int j = 0; j < 4; ++j) sums[j] = sums[j] + avx2::load(&buffer[i + 16 * j]);
        }
        benchmark::DoNotOptimize(avx2::hsum(sums[0] + sums[1] + (sums[2] + sums[3])));
      });
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void matvec(benchmark::State& state, WeightFormat format) {
  const int64_t n = state.range(0);
  const int64_t k = state.range(1);
  const int64_t rows = state.range(2);
  ThreadPool::set_threads(static_cast<int>(state.range(3)));
  std::vector<LinearWeight> ring;
  int64_t bytes = 0;
  while (bytes < kRingBytes) {
    ring.push_back(make_weight(format, n, k, ring.size()));
    bytes += ring.back().stored_bytes();
  }
  const std::vector<float> buffer(static_cast<size_t>(bytes) / sizeof(float), 1.0F);
  std::vector<float> x(static_cast<size_t>(rows * k), 0.5F);
  std::vector<float> y(static_cast<size_t>(rows * n));
  state.SetLabel(std::string(kernel_name(ring[0].desc(), rows)));
  double best_read = 1e9;
  double best = 1e9;
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    for (const LinearWeight& weight : ring) matmul(weight, x, y);
    benchmark::DoNotOptimize(y.data());
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    state.SetIterationTime(seconds);
    best = std::min(best, seconds);
    best_read = std::min(best_read, read_seconds(buffer));
  }
  state.counters["GB/s"] = static_cast<double>(bytes) / best / 1e9;
  state.counters["read_GB/s"] = static_cast<double>(bytes) / best_read / 1e9;
  state.counters["of_bandwidth"] = best_read / best;
}

void sizes(benchmark::internal::Benchmark* bench) {
  for (const int64_t threads : {1, 2}) {
    for (const int64_t rows : {1, 4}) bench->Args({4096, 4096, rows, threads});
  }
  bench->Args({14336, 4096, 1, 2});
  bench->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(4);
}

BENCHMARK_CAPTURE(matvec, f32, WeightFormat::kF32)->Apply(sizes);
BENCHMARK_CAPTURE(matvec, bf16, WeightFormat::kBF16)->Apply(sizes);
BENCHMARK_CAPTURE(matvec, f16, WeightFormat::kF16)->Apply(sizes);
BENCHMARK_CAPTURE(matvec, fp8, WeightFormat::kBlockFp8)->Apply(sizes);
BENCHMARK_CAPTURE(matvec, nvfp4, WeightFormat::kNvfp4)->Apply(sizes);

}  // namespace
}  // namespace hone
