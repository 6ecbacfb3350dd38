#include "runtime/op/add.h"

#include <cstdint>

#include "core/base/error.h"
#include "core/base/threads.h"

namespace hone {
namespace {

// Elements that are worth a thread of their own.
constexpr int64_t kGrain = 1 << 16;

}  // namespace

void add(std::span<const float> x, std::span<float> y) {
  require(x.size() == y.size(), "add: x has {} elements, y {}", x.size(), y.size());
  ThreadPool::global()
      .parallel_for(static_cast<int64_t>(x.size()), kGrain, [&](int64_t begin, int64_t end) {
        const float* source = x.data();
        float* target = y.data();
        for (int64_t i = begin; i < end; ++i) target[i] += source[i];
      });
}

void add_bias(std::span<const float> bias, std::span<float> y) {
  require(
      !bias.empty() && y.size() % bias.size() == 0,
      "add_bias: y has {} elements, which is not a multiple of the bias's {}",
      y.size(),
      bias.size()
  );
  const auto dim = static_cast<int64_t>(bias.size());
  for (size_t row = 0; row < y.size(); row += bias.size()) {
    float* target = y.data() + row;
    for (int64_t i = 0; i < dim; ++i) target[i] += bias[i];
  }
}

}  // namespace hone
