// Encoders in weights per second on one core, data in the cache: 128 rows x 1024 columns of BF16
// (256 KiB) on one thread. The argument is the instruction set: 0 AVX2, 1 AVX-512.
#include <vector>

#include <benchmark/benchmark.h>

#include "core/base/rng.h"
#include "core/device/cpu_isa.h"
#include "core/format/load.h"
#include "core/format/nvfp4.h"
#include "quant/method/rtn.h"
#include "quant/method/scale_search.h"

namespace hone {
namespace {

constexpr int64_t kRows = 128;
constexpr int64_t kCols = 1024;

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

struct Case {
  Format format = Format::kBlockFp8;
  ScaleChoice choice = ScaleChoice::kAmax;
  ScaleKind kind = ScaleKind::kF32;
  bool weighted = false;
};

void encode(benchmark::State& state, const Case& c) {
  const CpuIsa isa = state.range(0) == 0 ? CpuIsa::kAvx2 : CpuIsa::kAvx512;
  if (!cpu_supports(isa)) {
    state.SkipWithError("not on this CPU");
    return;
  }
  set_cpu_isa(isa);
  ThreadPool pool(1);
  const RowSlab slab = RowSlab::of(weight().view());
  const EncodedSize size = encoded_size(c.format, kRows, kCols);
  std::vector<std::byte> codes(static_cast<size_t>(size.codes));
  std::vector<std::byte> scales(static_cast<size_t>(size.block_scales));
  const float amax = slab_amax(slab, pool).amax;
  const std::vector<float> weights(static_cast<size_t>(c.weighted ? kCols : 0), 1.0F);
  const float g = global_scale_candidates(c.format, c.choice, amax).front();
  for (auto _ : state) {
    if (c.choice == ScaleChoice::kAmax) {
      const RtnOptions options{
          .format = c.format,
          .scale_kind = c.kind,
          .global_scale = rtn_global_scale(c.format, amax)};
      benchmark::DoNotOptimize(rtn_encode(slab, options, codes.data(), scales.data(), pool));
    } else {
      const SearchOptions options{c.format, c.choice, c.kind, g, weights};
      benchmark::DoNotOptimize(search_encode(slab, options, codes.data(), scales.data(), pool));
    }
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * kRows * kCols);
  set_cpu_isa(std::nullopt);
}

void isas(benchmark::internal::Benchmark* b) {
  b->Arg(0)->Arg(1)->ArgName("isa");
}

constexpr auto kMse = ScaleChoice::kMse;
BENCHMARK_CAPTURE(encode, fp8_block, Case{})->Apply(isas);
BENCHMARK_CAPTURE(encode, fp8_block_ue8m0, Case{.kind = ScaleKind::kUe8m0})->Apply(isas);
BENCHMARK_CAPTURE(encode, fp8_channel, Case{Format::kFp8Channel})->Apply(isas);
BENCHMARK_CAPTURE(encode, fp8_tensor, Case{Format::kFp8Tensor})->Apply(isas);
BENCHMARK_CAPTURE(encode, nvfp4, Case{Format::kNvfp4})->Apply(isas);
BENCHMARK_CAPTURE(encode, mxfp4, Case{Format::kMxfp4})->Apply(isas);
BENCHMARK_CAPTURE(encode, mxfp8, Case{Format::kMxfp8})->Apply(isas);
BENCHMARK_CAPTURE(encode, nvfp4_mse, Case{Format::kNvfp4, kMse})->Apply(isas);
BENCHMARK_CAPTURE(encode, nvfp4_mse_weighted, Case{Format::kNvfp4, kMse, ScaleKind::kF32, true})
    ->Apply(isas);
BENCHMARK_CAPTURE(encode, nvfp4_4over6, Case{Format::kNvfp4, ScaleChoice::kFourOverSix})
    ->Apply(isas);
BENCHMARK_CAPTURE(encode, fp8_block_mse, Case{Format::kBlockFp8, kMse})->Apply(isas);
BENCHMARK_CAPTURE(encode, mxfp4_mse, Case{Format::kMxfp4, kMse})->Apply(isas);

}  // namespace
}  // namespace hone
