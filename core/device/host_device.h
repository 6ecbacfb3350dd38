// HONE_HD: marks a function that kernels of every kind include: host code, host code compiled for
// a wider instruction set, and CUDA device code.
//
// On the host it forces inlining. Otherwise the linker could keep the copy of a translation unit
// compiled for AVX-512 and hand it to code that runs on a CPU with AVX2 only.
#pragma once

#if defined(__CUDACC__)
#define HONE_HD __host__ __device__ __forceinline__
#else
#define HONE_HD __attribute__((always_inline)) inline
#endif

namespace hone {

// The bits of `from` as a To; sizes must agree. As std::bit_cast, and callable on the device.
template <typename To, typename From>
HONE_HD constexpr To bits_as(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, from);
}

}  // namespace hone
