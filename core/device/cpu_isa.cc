#include "core/device/cpu_isa.h"

#include <atomic>

#include "core/base/error.h"

namespace hone {
namespace {

constexpr int kNoOverride = -1;
std::atomic<int> isa_override{kNoOverride};

// Every processor with AVX2 has F16C, which not all compilers can ask for.
bool detect_avx2() {
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 &&
         __builtin_cpu_supports("bmi2") != 0;
}

bool detect_avx512() {
  return detect_avx2() && __builtin_cpu_supports("avx512f") != 0 &&
         __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512cd") != 0;
}

}  // namespace

std::string_view cpu_isa_name(CpuIsa isa) {
  return isa == CpuIsa::kAvx512 ? "avx512" : "avx2";
}

bool cpu_supports(CpuIsa isa) {
  static const bool avx2 = detect_avx2();
  static const bool avx512 = detect_avx512();
  return isa == CpuIsa::kAvx512 ? avx512 : avx2;
}

CpuIsa cpu_isa() {
  const int chosen = isa_override.load(std::memory_order_relaxed);
  if (chosen != kNoOverride) return static_cast<CpuIsa>(chosen);
  return cpu_supports(CpuIsa::kAvx512) ? CpuIsa::kAvx512 : CpuIsa::kAvx2;
}

void set_cpu_isa(std::optional<CpuIsa> isa) {
  require(!isa || cpu_supports(*isa), "this CPU has no {}", isa ? cpu_isa_name(*isa) : "");
  isa_override.store(isa ? static_cast<int>(*isa) : kNoOverride, std::memory_order_relaxed);
}

void require_avx2() {
  if (!cpu_supports(CpuIsa::kAvx2)) {
    throw DeviceError(
        "this CPU lacks AVX2, FMA, F16C or BMI2, which Hone needs: run it on an x86-64 processor "
        "of "
        "2013 (Intel Haswell), 2017 (AMD Zen) or later"
    );
  }
}

}  // namespace hone
