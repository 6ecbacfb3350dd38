// Random inputs for the tests of runtime/op, and the environments they must not depend on.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/rng.h"
#include "core/base/threads.h"
#include "core/device/cpu_isa.h"
#include "core/format/block_fp8.h"
#include "core/format/load.h"
#include "core/format/nvfp4.h"
#include "runtime/op/matmul.h"

namespace hone::testing_op {

inline std::vector<float> random_floats(size_t n, uint64_t seed, float scale = 1.0F) {
  Rng rng(seed);
  std::vector<float> x(n);
  for (float& value : x) value = static_cast<float>(rng.normal()) * scale;
  return x;
}

inline Tensor float_tensor(const std::vector<float>& values, Shape shape) {
  Tensor tensor(DType::kF32, std::move(shape));
  std::memcpy(tensor.bytes(), values.data(), values.size() * sizeof(float));
  return tensor;
}

// A random [n, k] weight in `format`, about 1/sqrt(k) in size. NVFP4 scales span all codes.
inline LinearWeight random_weight(WeightFormat format, int64_t n, int64_t k, uint64_t seed) {
  const std::vector<float> values =
      random_floats(static_cast<size_t>(n * k), seed, 1.0F / std::sqrt(static_cast<float>(k)));
  const Tensor dense = float_tensor(values, {n, k});
  switch (format) {
    case WeightFormat::kF32:
      return LinearWeight::dense(dense);
    case WeightFormat::kBF16:
    case WeightFormat::kF16: {
      const DType type = format == WeightFormat::kBF16 ? DType::kBF16 : DType::kF16;
      Tensor stored(type, {n, k});
      store_floats(type, values.data(), n * k, stored.bytes());
      return LinearWeight::dense(stored);
    }
    case WeightFormat::kBlockFp8:
      return LinearWeight::quantized(
          quantize_block_fp8(dense.view(), {}, "random", ThreadPool::global()), "random"
      );
    case WeightFormat::kNvfp4:
      return LinearWeight::quantized(
          quantize_nvfp4(dense.view(), nvfp4_global_scale(4.0F), "random", ThreadPool::global()),
          "random"
      );
  }
  return {};
}

// One combination of instruction set and thread count; restores the defaults when it ends.
class Environment {
 public:
  Environment(CpuIsa isa, int threads) {
    set_cpu_isa(isa);
    ThreadPool::set_threads(threads);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() {
    set_cpu_isa(std::nullopt);
    ThreadPool::set_threads(2);
  }
};

// The instruction sets that this CPU has.
inline std::vector<CpuIsa> cpu_isas() {
  std::vector<CpuIsa> isas = {CpuIsa::kAvx2};
  if (cpu_supports(CpuIsa::kAvx512)) isas.push_back(CpuIsa::kAvx512);
  return isas;
}

// Index of the first element whose bits differ, or -1.
inline int64_t first_difference(std::span<const float> a, std::span<const float> b) {
  if (a.size() != b.size()) return 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::memcmp(&a[i], &b[i], sizeof(float)) != 0) return static_cast<int64_t>(i);
  }
  return -1;
}

}  // namespace hone::testing_op
