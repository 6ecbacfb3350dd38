// The FMA rate of this machine: the limit of every float32 matmul.
#pragma once

#include "core/device/cpu_isa.h"

namespace hone::bench {

// FLOP/s of independent FMA chains in registers, on all threads of ThreadPool::global().
double peak_flops(CpuIsa isa);

}  // namespace hone::bench

// iterations x 12 FMA of sixteen lanes; sink: 16 floats.
namespace hone::avx2 {
void fma_chains(long iterations, float* sink);
}  // namespace hone::avx2
namespace hone::avx512 {
void fma_chains(long iterations, float* sink);
}  // namespace hone::avx512
