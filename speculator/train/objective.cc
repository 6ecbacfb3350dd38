#include "speculator/train/objective.h"

#include <cmath>
#include <span>

#include "core/base/error.h"
#include "runtime/op/sgemm.h"
#include "runtime/op/softmax.h"
#include "speculator/autograd/eagle3_tape.h"
#include "speculator/autograd/ops.h"
#include "speculator/autograd/soft_cross_entropy.h"

namespace hone {
namespace {

// The target's softmax over the draft vocabulary at every target position: [targets, draft_vocab].
std::vector<float> teacher_distributions(
    const Eagle3Config& config, const TttBatch& batch, const Teacher& teacher
) {
  std::vector<float> q(batch.argmax.size() * static_cast<size_t>(config.draft_vocab));
  linear_forward(batch.finals, teacher.draft_lm_head->as<float>(), config.target_hidden, q);
  softmax(q, config.draft_vocab, q);
  return q;
}

}  // namespace

ObjectiveResult eagle3_objective(
    Tape& tape,
    const Eagle3Config& config,
    HeadWeights& weights,
    const TttBatch& batch,
    const Teacher& teacher,
    const ObjectiveOptions& options
) {
  const std::vector<float> q = teacher_distributions(config, batch, teacher);
  const Eagle3Parameters<Var> parameters = weights.on_tape(tape);
  const Var table =
      tape.constant(teacher.embeddings->as<float>().data(), config.vocab, config.hidden);
  const Var taps = tape.constant(batch.taps.data(), batch.layout->total, config.feature_width());

  Eagle3TapeOps ops(tape, config, batch.layout, batch.positions);
  ObjectiveResult result;
  Var features = eagle3_fuse(ops, parameters, taps);
  double weight = 1.0 / options.divisor;
  for (size_t k = 0; k < batch.steps.size(); ++k) {
    const TttBatch::Step& step = batch.steps[k];
    Eagle3TapeOps::Pass pass = ops.next_pass();
    const Var embedded = gather_rows(tape, table, k == 0 ? batch.tokens : step.tokens);
    features = eagle3_layer(ops, parameters, pass, embedded, features);
    SoftCrossEntropy entropy;
    entropy.logits = eagle3_logits(ops, parameters, features);
    entropy.teacher = q.data();
    entropy.positions = static_cast<int64_t>(batch.argmax.size());
    entropy.rows = step.teacher;
    entropy.weights = step.weights;
    entropy.factor = static_cast<float>(weight);
    SoftCrossEntropyResult outcome = soft_cross_entropy(tape, entropy);
    result.loss = k == 0 ? outcome.loss : add(tape, result.loss, outcome.loss);
    StepResult summary;
    summary.supervised = outcome.weight;
    summary.loss = outcome.weight > 0 ? outcome.weighted_sum / outcome.weight : 0.0;
    for (const int32_t id : outcome.argmax)
      summary.drafted.push_back((*teacher.draft_to_target)[static_cast<size_t>(id)]);
    result.steps.push_back(std::move(summary));
    weight *= options.decay;
  }
  return result;
}

}  // namespace hone
