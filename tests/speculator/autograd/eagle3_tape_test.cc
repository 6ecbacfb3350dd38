#include "speculator/autograd/eagle3_tape.h"

#include <cmath>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/rng.h"
#include "core/format/bf16.h"
#include "runtime/model/draft/eagle3_runner.h"
#include "speculator/autograd/ops.h"

namespace hone {
namespace {

Eagle3Config small_config() {
  Eagle3Config config;
  config.hidden = 32;
  config.target_hidden = 32;
  config.intermediate = 48;
  config.heads = 4;
  config.kv_heads = 2;
  config.head_dim = 8;
  config.vocab = 50;
  config.draft_vocab = 20;
  config.max_positions = 64;
  config.taps = {0, 2, 4};
  return config;
}

Tensor random_tensor(Shape shape, uint64_t seed, double deviation) {
  Tensor tensor(DType::kF32, std::move(shape));
  Rng rng(seed);
  for (float& x : tensor.as<float>()) x = static_cast<float>(deviation * rng.normal());
  return tensor;
}

Eagle3Parameters<Tensor> random_weights(const Eagle3Config& config) {
  Eagle3Parameters<Tensor> weights;
  const auto members = eagle3_members(weights);
  const auto specs = eagle3_tensors(config);
  for (size_t i = 0; i < specs.size(); ++i) {
    const bool norm = specs[i].shape.rank() == 1;
    *members[i] = random_tensor(
        specs[i].shape,
        100 + i,
        norm ? 0.2 : 1.0 / std::sqrt(static_cast<double>(specs[i].shape.dim(-1)))
    );
    if (norm)
      for (float& x : members[i]->as<float>()) x += 1.0F;
  }
  return weights;
}

// Both sides run the same three unrolled steps from the same weights: the runtime step by step with
// its cache, one start at a time; the tape in one packed batch. Two sequences of different lengths.
TEST(Eagle3Tape, AgreesWithTheRuntime) {
  const Eagle3Config config = small_config();
  const Eagle3Parameters<Tensor> weights = random_weights(config);
  const Tensor embeddings = random_tensor({config.vocab, config.hidden}, 7, 1.0);
  constexpr int64_t kSteps = 3;
  auto layout = std::make_shared<TttLayout>();
  layout->sequences = {{0, 7, 0, 3}, {7, 40, 3, 2}};
  layout->row = {3, 4, 6, 7 + 10, 7 + 39};
  layout->total = 47;
  std::vector<int64_t> positions;
  std::vector<int32_t> tokens;
  Rng rng(3);
  for (const TttSequence& s : layout->sequences)
    for (int64_t t = 0; t < s.length; ++t) {
      positions.push_back(t);
      tokens.push_back(static_cast<int32_t>(rng.below(50)));
    }
  std::vector<std::vector<int32_t>> later(kSteps);
  for (auto& step : later)
    for (size_t a = 0; a < layout->row.size(); ++a)
      step.push_back(static_cast<int32_t>(rng.below(50)));
  const Tensor taps = random_tensor({layout->total, config.feature_width()}, 9, 1.0);

  Tape tape;
  Eagle3Parameters<Var> variables;
  const auto members = eagle3_members(variables);
  const auto tensors = eagle3_members(weights);
  for (size_t i = 0; i < members.size(); ++i)
    *members[i] = tape.constant(
        tensors[i]->as<float>().data(),
        tensors[i]->shape().rank() == 2 ? tensors[i]->shape().dim(0) : 1,
        tensors[i]->shape().dim(-1)
    );
  Eagle3TapeOps ops(tape, config, layout, positions);
  const Var table = tape.constant(embeddings.as<float>().data(), config.vocab, config.hidden);
  Var features = eagle3_fuse(
      ops, variables, tape.constant(taps.as<float>().data(), layout->total, config.feature_width())
  );
  std::vector<Var> logits;
  for (int64_t k = 0; k < kSteps; ++k) {
    auto pass = ops.next_pass();
    const Var embedded = gather_rows(tape, table, k == 0 ? tokens : later[static_cast<size_t>(k)]);
    features = eagle3_layer(ops, variables, pass, embedded, features);
    logits.push_back(eagle3_logits(ops, variables, features));
  }

  Eagle3Head head;
  head.config = config;
  head.weights = weights;
  for (int32_t i = 0; i < 20; ++i) head.draft_to_target.push_back(2 * i);
  Eagle3Runner runner(head, embeddings);
  KvPool pool(runner.kv_layout(), 64);
  double largest = 0;
  for (const TttSequence& s : layout->sequences)
    for (int64_t a = s.active_begin; a < s.active_begin + s.active_count; ++a) {
      const int64_t rows = layout->row[static_cast<size_t>(a)] - s.begin + 1;
      KvSequence kv(pool);
      ASSERT_TRUE(kv.reserve(rows + kSteps));
      Tensor part(DType::kF32, {rows, config.feature_width()});
      std::copy_n(
          taps.as<float>().data() + s.begin * config.feature_width(),
          part.numel(),
          part.as<float>().data()
      );
      const std::span<const int32_t> fed =
          std::span(tokens).subspan(static_cast<size_t>(s.begin), static_cast<size_t>(rows));
      const std::vector<Eagle3Rows> whole = {{&kv, rows, 1}};
      Tensor y = runner.step(whole, fed, runner.fuse(part));
      for (int64_t k = 0; k < kSteps; ++k) {
        if (k > 0) {
          const std::vector<Eagle3Rows> one = {{&kv, 1, 1}};
          const std::vector<int32_t> token = {
              later[static_cast<size_t>(k)][static_cast<size_t>(a)]};
          y = runner.step(one, token, y);
        }
        const Tensor expected = runner.logits(y);
        for (int64_t v = 0; v < config.draft_vocab; ++v) {
          const float found =
              tape.value(logits[static_cast<size_t>(k)])[a * config.draft_vocab + v];
          largest = std::max(
              largest,
              std::fabs(
                  static_cast<double>(found) -
                  static_cast<double>(expected.as<float>()[static_cast<size_t>(v)])
              )
          );
        }
      }
    }
  // Logits are of order 1; the two differ in the order of sums of up to 96 products in 3 unrolled
  // layers: 96 * 2^-24 * a dozen such sums in a row is 7e-5.
  EXPECT_LT(largest, 7e-5);
  EXPECT_GT(largest, 0.0);  // they are not the same code path
}

TEST(Eagle3Tape, StepsRunInOrder) {
  const Eagle3Config config = small_config();
  Tape tape;
  auto layout = std::make_shared<TttLayout>();
  layout->sequences = {{0, 1, 0, 1}};
  layout->row = {0};
  layout->total = 1;
  Eagle3TapeOps ops(tape, config, layout, {0});
  ops.next_pass();
  EXPECT_THROW(ops.next_pass(), InternalError);
}

}  // namespace
}  // namespace hone
