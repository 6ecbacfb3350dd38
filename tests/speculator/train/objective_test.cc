#include "speculator/train/objective.h"

#include <cmath>

#include <gtest/gtest.h>

#include "core/base/threads.h"
#include "runtime/model/draft/eagle3_runner.h"
#include "tests/speculator/train/toy_training.h"

namespace hone {
namespace {

using testing_speculator::ToyTraining;

struct Setting {
  ToyTraining toy{30};
  HeadWeights weights{toy.config};
  FeatureStore store{toy.target, toy.table, toy.config.taps, toy.rows.train, 1 << 24};
  Tensor draft_rows{DType::kF32, {20, 16}};
  TttBatch batch;
  Teacher teacher;

  Setting() {
    weights.initialize(toy.config, toy.table, toy.vocabulary, 1);
    batch = make_batch(toy.rows.train, {0, 1, 2}, store, toy.vocabulary, 3);
    for (size_t i = 0; i < toy.vocabulary.size(); ++i)
      std::copy_n(
          toy.table.as<float>().data() + toy.vocabulary[i] * 16,
          16,
          draft_rows.as<float>().data() + i * 16
      );
    teacher = {&toy.table, &draft_rows, &toy.vocabulary};
  }
};

// The whole loss against the runtime's own forward pass, chain by chain, and the formula in double.
TEST(Objective, IsTheMaskedSoftCrossEntropyOfTheUnrolledChain) {
  Setting s;
  Tape tape;
  const ObjectiveResult result =
      eagle3_objective(tape, s.toy.config, s.weights, s.batch, s.teacher, {0.8, 10.0});
  Eagle3Head head;
  head.config = s.toy.config;
  head.weights = s.weights.tensors();
  head.draft_to_target = s.toy.vocabulary;
  Eagle3Runner runner(head, s.toy.table);
  KvPool pool(runner.kv_layout(), 64);
  double expected = 0;
  std::vector<double> per_step(3);
  std::vector<double> counts(3);
  for (const TttSequence& sequence : s.batch.layout->sequences)
    for (int64_t a = sequence.active_begin; a < sequence.active_begin + sequence.active_count;
         ++a) {
      const int64_t rows = s.batch.layout->row[static_cast<size_t>(a)] - sequence.begin + 1;
      KvSequence kv(pool);
      ASSERT_TRUE(kv.reserve(rows + 3));
      Tensor taps(DType::kF32, {rows, 48});
      std::copy_n(s.batch.taps.data() + sequence.begin * 48, rows * 48, taps.as<float>().data());
      const std::vector<Eagle3Rows> whole = {{&kv, rows, 1}};
      Tensor y = runner.step(
          whole,
          std::span(s.batch.tokens)
              .subspan(static_cast<size_t>(sequence.begin), static_cast<size_t>(rows)),
          runner.fuse(taps)
      );
      for (size_t k = 0; k < 3; ++k) {
        const TttBatch::Step& step = s.batch.steps[k];
        const auto at = static_cast<size_t>(a);
        if (k > 0) {
          const std::vector<Eagle3Rows> one = {{&kv, 1, 1}};
          y = runner.step(one, std::span(step.tokens).subspan(at, 1), y);
        }
        EXPECT_EQ(result.steps[k].drafted[at], runner.best_tokens(y)[0]);
        if (step.weights[at] == 0.0F) continue;
        const Tensor logits = runner.logits(y);
        std::vector<double> teacher(20);
        double teacher_total = 0;
        double total = 0;
        for (size_t v = 0; v < 20; ++v) {
          double dot = 0;
          for (size_t i = 0; i < 16; ++i)
            dot +=
                static_cast<double>(s.draft_rows.as<float>()[v * 16 + i]) *
                static_cast<double>(s.batch.finals[static_cast<size_t>(step.teacher[at]) * 16 + i]);
          teacher[v] = std::exp(dot);
          teacher_total += teacher[v];
          total += std::exp(static_cast<double>(logits.as<float>()[v]));
        }
        for (size_t v = 0; v < 20; ++v)
          per_step[k] -= teacher[v] / teacher_total *
                         (static_cast<double>(logits.as<float>()[v]) - std::log(total));
        counts[k] += 1;
      }
    }
  for (size_t k = 0; k < 3; ++k) {
    expected += std::pow(0.8, static_cast<double>(k)) * per_step[k] / 10.0;
    EXPECT_EQ(result.steps[k].supervised, counts[k]);
    EXPECT_GT(counts[k], 0);
    EXPECT_NEAR(result.steps[k].loss, per_step[k] / counts[k], 1e-4);
  }
  EXPECT_NEAR(tape.value(result.loss)[0], expected, 1e-4 * expected);
}

// Central differences through the whole unrolled head, for a sample of every weight.
TEST(Objective, GradientsOfEveryWeight) {
  Setting s;
  Tape tape;
  const auto loss = [&](bool backward) {
    tape.reset();
    tape.set_recording(backward);
    const ObjectiveResult result =
        eagle3_objective(tape, s.toy.config, s.weights, s.batch, s.teacher, {0.8, 10.0});
    if (backward) tape.backward(result.loss);
    double total = 0;
    double weight = 1.0 / 10.0;
    for (const StepResult& step : result.steps) {
      total += weight * step.loss * step.supervised;
      weight *= 0.8;
    }
    return total;
  };
  loss(true);
  const std::vector<float> analytic = s.weights.gradients();
  for (const HeadWeights::Part& part : s.weights.parts()) {
    double largest = 0;
    for (int64_t i = 0; i < part.shape.numel(); ++i)
      largest = std::max(
          largest, std::fabs(static_cast<double>(analytic[static_cast<size_t>(part.offset + i)]))
      );
    EXPECT_GT(largest, 0.0) << part.name;
    const int64_t stride = std::max<int64_t>(1, part.shape.numel() / 7);
    for (int64_t i = 0; i < part.shape.numel(); i += stride) {
      float& w = s.weights.values()[static_cast<size_t>(part.offset + i)];
      const float kept = w;
      w = kept + 4e-3F;
      const double above = loss(false);
      w = kept - 4e-3F;
      const double below = loss(false);
      w = kept;
      EXPECT_NEAR(
          analytic[static_cast<size_t>(part.offset + i)],
          (above - below) / 8e-3,
          0.02 * largest + 1e-4
      ) << part.name
        << " " << i;
    }
  }
}

TEST(Objective, IsTheSameForEveryNumberOfThreads) {
  std::vector<std::vector<float>> gradients;
  for (const int threads : {1, 2, 3}) {
    ThreadPool::set_threads(threads);
    Setting s;
    Tape tape;
    const ObjectiveResult result =
        eagle3_objective(tape, s.toy.config, s.weights, s.batch, s.teacher, {0.8, 10.0});
    tape.backward(result.loss);
    gradients.push_back(s.weights.gradients());
    gradients.back().push_back(tape.value(result.loss)[0]);
  }
  ThreadPool::set_threads(2);
  EXPECT_EQ(gradients[0], gradients[1]);
  EXPECT_EQ(gradients[0], gradients[2]);
}

}  // namespace
}  // namespace hone
