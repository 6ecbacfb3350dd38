#include "tests/bench/op_peak.h"

#include <chrono>
#include <cstdint>
#include <vector>

#include "core/base/threads.h"

namespace hone::bench {

double peak_flops(CpuIsa isa) {
  constexpr long kIterations = 200000;
  const int threads = ThreadPool::global().threads();
  std::vector<float> sink(static_cast<size_t>(threads) * 16);
  const auto start = std::chrono::steady_clock::now();
  ThreadPool::global().parallel_for(threads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      (isa == CpuIsa::kAvx512 ? avx512::fma_chains : avx2::fma_chains)(kIterations, &sink[i * 16]);
    }
  });
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return 2.0 * 16 * 12 * static_cast<double>(kIterations) * threads / seconds;
}

}  // namespace hone::bench
