#include "runtime/op/softmax.h"

#include "core/base/error.h"
#include "core/base/threads.h"
#include "runtime/op/cpu/kernels.h"

namespace hone {
namespace {

// Elements that are worth a thread of their own.
constexpr int64_t kGrain = 1 << 14;

using RowKernel = void (*)(const cpu::RowsCall& call, int64_t row0, int64_t row1);

void run_rows(const char* what, RowKernel kernel, const cpu::RowsCall& call, size_t size) {
  require(
      call.dim > 0 && size % static_cast<size_t>(call.dim) == 0,
      "{}: {} elements are not a multiple of the row length {}",
      what,
      size,
      call.dim
  );
  const int64_t rows = static_cast<int64_t>(size) / call.dim;
  ThreadPool::global().parallel_for(rows, kGrain / call.dim + 1, [&](int64_t r0, int64_t r1) {
    kernel(call, r0, r1);
  });
}

cpu::RowsCall forward_call(
    const char* what, std::span<const float> x, int64_t dim, std::span<float> y
) {
  require(x.size() == y.size(), "{}: x has {} elements, y {}", what, x.size(), y.size());
  cpu::RowsCall call;
  call.x = x.data();
  call.y = y.data();
  call.dim = dim;
  return call;
}

}  // namespace

void softmax(std::span<const float> x, int64_t dim, std::span<float> y) {
  const cpu::RowsCall call = forward_call("softmax", x, dim, y);
  run_rows("softmax", cpu::kernels().softmax, call, x.size());
}

void log_softmax(std::span<const float> x, int64_t dim, std::span<float> y) {
  const cpu::RowsCall call = forward_call("log_softmax", x, dim, y);
  run_rows("log_softmax", cpu::kernels().log_softmax, call, x.size());
}

void softmax_backward(
    std::span<const float> y, std::span<const float> dy, int64_t dim, std::span<float> dx
) {
  require(y.size() == dy.size(), "softmax_backward: y has {}, dy {}", y.size(), dy.size());
  cpu::RowsCall call = forward_call("softmax_backward", y, dim, dx);
  call.other = dy.data();
  run_rows("softmax_backward", cpu::kernels().softmax_backward, call, y.size());
}

void log_softmax_backward(
    std::span<const float> y, std::span<const float> dy, int64_t dim, std::span<float> dx
) {
  require(y.size() == dy.size(), "log_softmax_backward: y has {}, dy {}", y.size(), dy.size());
  cpu::RowsCall call = forward_call("log_softmax_backward", y, dim, dx);
  call.other = dy.data();
  run_rows("log_softmax_backward", cpu::kernels().log_softmax_backward, call, y.size());
}

}  // namespace hone
