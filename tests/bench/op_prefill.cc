// Many-row matmul (prefill) against OpenBLAS sgemm on the dequantized weight, in one run.
//
// Counters: GFLOP/s; of_sgemm = time of sgemm / time of matmul, both with the same threads, taken
// in turns (OpenBLAS takes its slowest kernels on CPUs that it does not know: the label names the
// ones it took, OPENBLAS_CORETYPE=SkylakeX or Haswell chooses); of_peak = GFLOP/s over that of
// register-only FMA chains on the same threads.
#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <cblas-openblas.h>

#include "core/base/rng.h"
#include "core/base/threads.h"
#include "core/device/cpu_isa.h"
#include "core/format/block_fp8.h"
#include "core/format/load.h"
#include "core/format/nvfp4.h"
#include "runtime/op/matmul.h"
#include "tests/bench/op_peak.h"

namespace hone {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

LinearWeight encode(const Tensor& dense, WeightFormat format) {
  switch (format) {
    case WeightFormat::kBlockFp8:
      return LinearWeight::quantized(
          quantize_block_fp8(dense.view(), {}, "bench", ThreadPool::global()), "bench"
      );
    case WeightFormat::kNvfp4:
      return LinearWeight::quantized(
          quantize_nvfp4(dense.view(), nvfp4_global_scale(1.0F), "bench", ThreadPool::global()),
          "bench"
      );
    case WeightFormat::kBF16: {
      Tensor stored(DType::kBF16, dense.shape());
      store_floats(
          DType::kBF16, reinterpret_cast<const float*>(dense.bytes()), dense.numel(), stored.bytes()
      );
      return LinearWeight::dense(stored);
    }
    default:
      return LinearWeight::dense(dense);
  }
}

void prefill(benchmark::State& state, WeightFormat format) {
  const int64_t n = 4096;
  const int64_t k = 4096;
  const int64_t rows = state.range(0);
  ThreadPool::set_threads(static_cast<int>(state.range(1)));
  openblas_set_num_threads(static_cast<int>(state.range(1)));
  set_cpu_isa(std::nullopt);
  if (state.range(2) != 0) set_cpu_isa(CpuIsa::kAvx2);
  Tensor dense(DType::kF32, {n, k});
  Rng rng(1);
  for (float& value : dense.as<float>()) value = static_cast<float>(rng.uniform() - 0.5);
  const LinearWeight weight = encode(dense, format);
  std::vector<float> x(static_cast<size_t>(rows * k));
  for (float& value : x) value = static_cast<float>(rng.uniform() - 0.5);
  std::vector<float> y(static_cast<size_t>(rows * n));
  std::vector<float> z(y.size());
  state.SetLabel(
      std::string(kernel_name(weight.desc(), rows)) + ", OpenBLAS " + openblas_get_corename()
  );
  double best = 1e9;
  double best_sgemm = 1e9;
  double best_peak = 0;
  for (auto _ : state) {
    auto start = std::chrono::steady_clock::now();
    matmul(weight, x, y);
    const double seconds = seconds_since(start);
    state.SetIterationTime(seconds);
    best = std::min(best, seconds);
    start = std::chrono::steady_clock::now();
    cblas_sgemm(
        CblasRowMajor,
        CblasNoTrans,
        CblasTrans,
        static_cast<blasint>(rows),
        static_cast<blasint>(n),
        static_cast<blasint>(k),
        1.0F,
        x.data(),
        static_cast<blasint>(k),
        dense.as<float>().data(),
        static_cast<blasint>(k),
        0.0F,
        z.data(),
        static_cast<blasint>(n)
    );
    best_sgemm = std::min(best_sgemm, seconds_since(start));
    best_peak = std::max(best_peak, bench::peak_flops(cpu_isa()));
  }
  set_cpu_isa(std::nullopt);
  const double flops = 2.0 * static_cast<double>(rows * n * k);
  state.counters["GFLOP/s"] = flops / best / 1e9;
  state.counters["of_sgemm"] = best_sgemm / best;
  state.counters["of_peak"] = flops / best / best_peak;
}

void sizes(benchmark::internal::Benchmark* bench) {
  for (const int64_t threads : {1, 2}) {
    for (const int64_t rows : {8, 32, 512}) bench->Args({rows, threads, 0});
  }
  bench->Args({512, 2, 1});
  bench->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(6);
}

BENCHMARK_CAPTURE(prefill, f32, WeightFormat::kF32)->Apply(sizes);
BENCHMARK_CAPTURE(prefill, bf16, WeightFormat::kBF16)->Apply(sizes);
BENCHMARK_CAPTURE(prefill, fp8, WeightFormat::kBlockFp8)->Apply(sizes);
BENCHMARK_CAPTURE(prefill, nvfp4, WeightFormat::kNvfp4)->Apply(sizes);

}  // namespace
}  // namespace hone
