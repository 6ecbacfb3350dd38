#include "core/device/simd.h"
#include "tests/bench/op_peak.h"

namespace hone::HONE_ISA {

// As many as keep two units of latency 4 busy and fit the registers (two to a vector with AVX2).
constexpr int kChains = HONE_ISA_WIDTH(HONE_ISA) == 512 ? 12 : 6;

void fma_chains(long iterations, float* sink) {
  f32x16 sums[kChains];
  for (int j = 0; j < kChains; ++j) sums[j] = set1(static_cast<float>(j));
  const f32x16 factor = set1(0.999F);
  for (long i = 0; i < iterations * (12 / kChains); ++i) {
    for (int j = 0; j < kChains; ++j) sums[j] = fma(sums[j], factor, factor);
  }
  f32x16 total = sums[0];
  for (int j = 1; j < kChains; ++j) total = total + sums[j];
  store(sink, total);
}

}  // namespace hone::HONE_ISA
