#include "runtime/op/silu_mul.h"

#include <array>
#include <cstdint>

#include "core/base/error.h"
#include "core/base/threads.h"
#include "runtime/op/cpu/kernels.h"

namespace hone {
namespace {

// Elements that are worth a thread of their own.
constexpr int64_t kGrain = 1 << 14;

}  // namespace

void silu_mul(std::span<const float> gate, std::span<const float> up, std::span<float> y) {
  require(
      gate.size() == up.size() && gate.size() == y.size(),
      "silu_mul: gate has {} elements, up {}, y {}",
      gate.size(),
      up.size(),
      y.size()
  );
  const cpu::Kernels& kernels = cpu::kernels();
  ThreadPool::global()
      .parallel_for(static_cast<int64_t>(y.size()), kGrain, [&](int64_t begin, int64_t end) {
        kernels.silu_mul(gate.data() + begin, up.data() + begin, end - begin, y.data() + begin);
      });
}

void silu_mul_backward(
    std::span<const float> gate,
    std::span<const float> up,
    std::span<const float> dy,
    const SiluMulGradient& gradient
) {
  const size_t size = gate.size();
  require(
      up.size() == size && dy.size() == size && gradient.dgate.size() == size &&
          gradient.dup.size() == size,
      "silu_mul_backward: gate has {} elements, up {}, dy {}, dgate {}, dup {}",
      size,
      up.size(),
      dy.size(),
      gradient.dgate.size(),
      gradient.dup.size()
  );
  const cpu::Kernels& kernels = cpu::kernels();
  ThreadPool::global()
      .parallel_for(static_cast<int64_t>(size), kGrain, [&](int64_t begin, int64_t end) {
        const std::array<const float*, 3> inputs = {
            gate.data() + begin, up.data() + begin, dy.data() + begin};
        kernels.silu_mul_backward(
            inputs.data(), end - begin, gradient.dgate.data() + begin, gradient.dup.data() + begin
        );
      });
}

}  // namespace hone
