// Matrices for the codec tests: BF16, F16 or F32 bytes together with their exact values.
#pragma once

#include <cmath>
#include <vector>

#include "core/base/rng.h"
#include "core/format/load.h"
#include "core/tensor/tensor.h"
#include "tests/reference/quant_formats.h"

namespace hone {

// Entries spread over many octaves, some of them zero; rounded to `type`.
inline Tensor random_matrix(DType type, int64_t rows, int64_t cols, uint64_t seed) {
  Rng rng(seed);
  std::vector<float> values(static_cast<size_t>(rows * cols));
  for (float& value : values) {
    const double size = std::exp2(static_cast<double>(rng.below(12)) - 8.0);
    value = rng.below(37) == 0 ? 0.0F : static_cast<float>(rng.normal() * size);
  }
  Tensor tensor(type, {rows, cols});
  store_floats(type, values.data(), rows * cols, tensor.bytes());
  return tensor;
}

// The same elements in float64, for the reference.
inline reference::Matrix exact_values(const Tensor& tensor) {
  std::vector<float> values(static_cast<size_t>(tensor.numel()));
  load_floats(tensor.type(), tensor.view().data, tensor.numel(), values.data());
  return {tensor.shape().dim(0), tensor.shape().dim(1), {values.begin(), values.end()}};
}

inline std::vector<uint8_t> bytes_of(const Tensor& tensor) {
  const auto* data = reinterpret_cast<const uint8_t*>(tensor.view().data);
  return {data, data + tensor.nbytes()};
}

}  // namespace hone
