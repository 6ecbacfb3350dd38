#include "runtime/op/exp.h"

#include <cstdint>

#include "core/base/error.h"
#include "runtime/op/cpu/kernels.h"

namespace hone {

void exp(std::span<const float> x, std::span<float> y) {
  require(x.size() == y.size(), "exp: x has {} elements, y {}", x.size(), y.size());
  cpu::kernels().exp(x.data(), static_cast<int64_t>(x.size()), y.data());
}

}  // namespace hone
