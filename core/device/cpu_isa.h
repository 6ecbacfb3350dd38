// Which instruction set the kernels of hone_isa_sources() run with.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace hone {

// kAvx512 means F, BW, DQ, VL and CD together.
enum class CpuIsa : uint8_t { kAvx2, kAvx512 };
// "avx2", "avx512".
std::string_view cpu_isa_name(CpuIsa isa);

// Does this CPU (and the operating system) run it? kAvx2 includes FMA, F16C and BMI2.
[[nodiscard]] bool cpu_supports(CpuIsa isa);

// The widest supported ISA, unless set_cpu_isa() chose another. Cheap; thread-safe.
CpuIsa cpu_isa();
// For tests and benchmarks: every later cpu_isa() returns `isa`; nullopt gives the choice back.
// Throws UsageError when the CPU lacks it. Not while kernels run.
void set_cpu_isa(std::optional<CpuIsa> isa);

// Throws DeviceError when the CPU lacks AVX2. The program calls it first thing.
void require_avx2();

// One of two variants, for tables of kernels: by_isa(avx2::kernels, avx512::kernels).
template <typename T>
const T& by_isa(const T& avx2, const T& avx512) {
  return cpu_isa() == CpuIsa::kAvx512 ? avx512 : avx2;
}

}  // namespace hone
