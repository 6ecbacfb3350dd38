#include "runtime/op/cross_entropy.h"

#include <algorithm>
#include <vector>

#include "core/base/error.h"
#include "core/base/threads.h"
#include "runtime/op/cpu/kernels.h"

namespace hone {
namespace {

// Elements that are worth a thread of their own.
constexpr int64_t kGrain = 1 << 14;

int64_t check_sizes(
    const char* what,
    const CrossEntropyArgs& args,
    std::span<const double> loss,
    std::span<const float> dlogits
) {
  const auto rows = static_cast<int64_t>(args.weight.size());
  require(
      args.dim > 0 && args.logits.size() == args.weight.size() * static_cast<size_t>(args.dim) &&
          loss.size() == args.weight.size() &&
          (dlogits.empty() || dlogits.size() == args.logits.size()),
      "{}: {} logits, {} row weights, {} losses, {} gradients; expected rows x {}, rows, rows and "
      "rows x {} or 0",
      what,
      args.logits.size(),
      args.weight.size(),
      loss.size(),
      dlogits.size(),
      args.dim,
      args.dim
  );
  return rows;
}

// Calls row_op(row, log_p) for every row with a weight, log_p: [dim] log-softmax of its logits;
// clears loss and gradient of the others.
template <typename RowOp>
void each_row(
    const CrossEntropyArgs& args,
    std::span<double> loss,
    std::span<float> dlogits,
    const RowOp& row_op
) {
  const auto rows = static_cast<int64_t>(args.weight.size());
  const cpu::Kernels& kernels = cpu::kernels();
  ThreadPool::global().parallel_for(rows, kGrain / args.dim + 1, [&](int64_t r0, int64_t r1) {
    std::vector<float> log_p(static_cast<size_t>(args.dim));
    for (int64_t row = r0; row < r1; ++row) {
      if (args.weight[row] == 0.0F) {
        loss[row] = 0;
        if (!dlogits.empty()) std::fill_n(dlogits.data() + row * args.dim, args.dim, 0.0F);
        continue;
      }
      cpu::RowsCall call;
      call.x = args.logits.data() + row * args.dim;
      call.y = log_p.data();
      call.dim = args.dim;
      kernels.log_softmax(call, 0, 1);
      row_op(row, log_p);
    }
  });
}

}  // namespace

void soft_cross_entropy(
    const CrossEntropyArgs& args,
    std::span<const float> target,
    std::span<double> loss,
    std::span<float> dlogits
) {
  check_sizes("soft_cross_entropy", args, loss, dlogits);
  require(
      target.size() == args.logits.size(),
      "soft_cross_entropy: {} target probabilities for {} logits",
      target.size(),
      args.logits.size()
  );
  each_row(args, loss, dlogits, [&](int64_t row, const std::vector<float>& log_p) {
    const float* t = target.data() + row * args.dim;
    double mass = 0;
    double sum = 0;
    for (int64_t i = 0; i < args.dim; ++i) {
      mass += static_cast<double>(t[i]);
      // 0 log 0 is 0, also where a mask makes the logit -inf.
      if (t[i] != 0.0F) sum += static_cast<double>(t[i]) * static_cast<double>(log_p[i]);
    }
    loss[row] = -static_cast<double>(args.weight[row]) * sum;
    if (dlogits.empty()) return;
    float* d = dlogits.data() + row * args.dim;
    cpu::kernels().exp(log_p.data(), args.dim, d);
    const auto total = static_cast<float>(mass);
    for (int64_t i = 0; i < args.dim; ++i) d[i] = args.weight[row] * (d[i] * total - t[i]);
  });
}

void cross_entropy(
    const CrossEntropyArgs& args,
    std::span<const int32_t> ids,
    std::span<double> loss,
    std::span<float> dlogits
) {
  const int64_t rows = check_sizes("cross_entropy", args, loss, dlogits);
  require(ids.size() == args.weight.size(), "cross_entropy: {} ids for {} rows", ids.size(), rows);
  for (int64_t row = 0; row < rows; ++row) {
    require(
        args.weight[row] == 0.0F || (ids[row] >= 0 && ids[row] < args.dim),
        "cross_entropy: target id {} of row {} lies outside [0, {})",
        ids[row],
        row,
        args.dim
    );
  }
  each_row(args, loss, dlogits, [&](int64_t row, const std::vector<float>& log_p) {
    loss[row] = -static_cast<double>(args.weight[row]) * static_cast<double>(log_p[ids[row]]);
    if (dlogits.empty()) return;
    float* d = dlogits.data() + row * args.dim;
    cpu::kernels().exp(log_p.data(), args.dim, d);
    for (int64_t i = 0; i < args.dim; ++i) d[i] *= args.weight[row];
    d[ids[row]] -= args.weight[row];
  });
}

}  // namespace hone
