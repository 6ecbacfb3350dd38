#include "speculator/autograd/soft_cross_entropy.h"

#include <algorithm>

#include "core/base/error.h"
#include "runtime/op/cross_entropy.h"
#include "speculator/autograd/lanes.h"

namespace hone {
namespace {

constexpr int64_t kRowGrain = 16;

// Fills argmax and copies the teacher's row of each supervised row.
void prepare(
    const Tape& tape, const SoftCrossEntropy& job, std::vector<int32_t>& argmax, float* target
) {
  const int64_t n = tape.rows(job.logits);
  const int64_t vocab = tape.cols(job.logits);
  const float* logits = tape.value(job.logits);
  Tape::pool().parallel_for(n, kRowGrain, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const auto at = static_cast<size_t>(t);
      const float* row = logits + t * vocab;
      const float* found = std::find(row, row + vocab, lane_max(row, vocab));
      // Not found: NaN, which the loss will show.
      argmax[at] = found == row + vocab ? 0 : static_cast<int32_t>(found - row);
      if (job.weights[at] == 0.0F) continue;
      check(
          job.rows[at] >= 0 && job.rows[at] < job.positions,
          "soft_cross_entropy: teacher row {} of {}",
          job.rows[at],
          job.positions
      );
      std::copy_n(job.teacher + job.rows[at] * vocab, vocab, target + t * vocab);
    }
  });
}

}  // namespace

SoftCrossEntropyResult soft_cross_entropy(Tape& tape, const SoftCrossEntropy& job) {
  const int64_t n = tape.rows(job.logits);
  const int64_t vocab = tape.cols(job.logits);
  const auto count = static_cast<size_t>(n);
  check(
      job.rows.size() == count && job.weights.size() == count,
      "soft_cross_entropy: {} rows and {} weights for {} logits",
      job.rows.size(),
      job.weights.size(),
      n
  );
  SoftCrossEntropyResult result;
  result.loss = tape.make(1, 1, {job.logits});
  result.argmax.assign(count, 0);
  const std::span<float> target(
      tape.scratch(result.loss, n * vocab), count * static_cast<size_t>(vocab)
  );
  prepare(tape, job, result.argmax, target.data());

  std::vector<double> losses(count);
  std::vector<float> weights = job.weights;
  for (float& weight : weights) weight *= job.factor;
  const bool train = tape.needs_grad(result.loss);
  const std::span<float> logits = tape.mutable_values(job.logits);
  soft_cross_entropy({logits, vocab, weights}, target, losses, train ? logits : std::span<float>());
  double total = 0;
  for (size_t t = 0; t < count; ++t) {
    total += losses[t];
    result.weight += static_cast<double>(job.weights[t]);
  }
  result.weighted_sum = job.factor == 0.0F ? 0.0 : total / static_cast<double>(job.factor);
  tape.mutable_value(result.loss)[0] = static_cast<float>(total);

  tape.set_backward(result.loss, [&tape, z = job.logits, loss = result.loss, n, vocab] {
    const float upstream = tape.grad(loss)[0];
    const GradSink dz = tape.sink_in_place(z);
    if (upstream == 1.0F) return;
    Tape::pool().parallel_for(n, kRowGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin * vocab; i < end * vocab; ++i) dz.data[i] *= upstream;
    });
  });
  return result;
}

}  // namespace hone
