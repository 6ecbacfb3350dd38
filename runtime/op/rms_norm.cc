#include "runtime/op/rms_norm.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/base/error.h"
#include "core/base/threads.h"
#include "runtime/op/cpu/kernels.h"

namespace hone {
namespace {

// Elements that are worth a thread of their own.
constexpr int64_t kGrain = 1 << 15;

int64_t row_count(const char* what, size_t size, size_t dim) {
  require(
      dim > 0 && size % dim == 0,
      "{}: x has {} elements, not a multiple of the weight's {}",
      what,
      size,
      dim
  );
  return static_cast<int64_t>(size / dim);
}

// Rows in order, in float64; columns are shared out.
void weight_gradient(
    const cpu::RowsCall& call, const std::vector<float>& inverse, std::span<float> dweight
) {
  const auto rows = static_cast<int64_t>(inverse.size());
  ThreadPool::global().parallel_for(call.dim, kGrain / rows + 16, [&](int64_t begin, int64_t end) {
    std::vector<double> sums(static_cast<size_t>(end - begin));
    for (int64_t row = 0; row < rows; ++row) {
      const float* x = call.x + row * call.dim + begin;
      const float* dy = call.other + row * call.dim + begin;
      const double s = inverse[row];
      for (int64_t i = 0; i < end - begin; ++i) {
        sums[i] += static_cast<double>(dy[i]) * static_cast<double>(x[i]) * s;
      }
    }
    for (int64_t i = begin; i < end; ++i) dweight[i] = static_cast<float>(sums[i - begin]);
  });
}

}  // namespace

void rms_norm(
    std::span<const float> x, std::span<const float> weight, float eps, std::span<float> y
) {
  const int64_t rows = row_count("rms_norm", x.size(), weight.size());
  require(x.size() == y.size(), "rms_norm: x has {} elements, y {}", x.size(), y.size());
  cpu::RowsCall call;
  call.x = x.data();
  call.weight = weight.data();
  call.y = y.data();
  call.dim = static_cast<int64_t>(weight.size());
  call.eps = eps;
  const cpu::Kernels& kernels = cpu::kernels();
  ThreadPool::global().parallel_for(rows, kGrain / call.dim + 1, [&](int64_t r0, int64_t r1) {
    kernels.rms_norm(call, r0, r1);
  });
}

void rms_norm_backward(
    std::span<const float> x,
    std::span<const float> weight,
    float eps,
    std::span<const float> dy,
    const RmsNormGradient& gradient
) {
  const int64_t rows = row_count("rms_norm_backward", x.size(), weight.size());
  require(
      dy.size() == x.size() && (gradient.dx.empty() || gradient.dx.size() == x.size()) &&
          (gradient.dweight.empty() || gradient.dweight.size() == weight.size()),
      "rms_norm_backward: x has {} elements, dy {}, dx {}; weight {}, dweight {}",
      x.size(),
      dy.size(),
      gradient.dx.size(),
      weight.size(),
      gradient.dweight.size()
  );
  if (rows == 0) {
    std::fill(gradient.dweight.begin(), gradient.dweight.end(), 0.0F);
    return;
  }
  cpu::RowsCall call;
  call.x = x.data();
  call.other = dy.data();
  call.weight = weight.data();
  call.y = gradient.dx.data();
  call.dim = static_cast<int64_t>(weight.size());
  call.eps = eps;
  const cpu::Kernels& kernels = cpu::kernels();
  const int64_t grain = kGrain / call.dim + 1;
  std::vector<float> inverse(static_cast<size_t>(rows));
  ThreadPool::global().parallel_for(rows, grain, [&](int64_t r0, int64_t r1) {
    kernels.rms_inverse(call, r0, r1, inverse.data());
  });
  // Before dx, which may overwrite dy.
  if (!gradient.dweight.empty()) weight_gradient(call, inverse, gradient.dweight);
  if (gradient.dx.empty()) return;
  ThreadPool::global().parallel_for(rows, grain, [&](int64_t r0, int64_t r1) {
    kernels.rms_norm_backward(call, r0, r1, inverse.data());
  });
}

}  // namespace hone
