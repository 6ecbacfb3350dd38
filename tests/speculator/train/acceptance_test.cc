#include "speculator/train/acceptance.h"

#include <algorithm>
#include <filesystem>
#include <memory>

#include <gtest/gtest.h>

#include "core/base/progress.h"
#include "runtime/engine/engine.h"
#include "runtime/spec/eagle3.h"
#include "tests/speculator/train/toy_training.h"

namespace hone {
namespace {

// One answer of 7 tokens after a prompt of 3: starts at 2 .. 7, each with up to 3 steps.
// `right[a][k]` says whether step k from start a drafts what the target says.
TttBatch answer_batch(int64_t prompt, int64_t answer, int64_t steps) {
  std::vector<int32_t> ids(static_cast<size_t>(prompt));
  std::vector<int32_t> said;
  for (int32_t i = 0; i < answer; ++i) said.push_back(100 + i);
  const TrainingRow row = TrainingRow::make("c", ids, said);
  TttBatch batch;
  auto layout = std::make_shared<TttLayout>();
  const std::vector<int64_t> starts = row.starts();
  layout->total = starts.back() + 1;
  layout->sequences = {{0, layout->total, 0, static_cast<int64_t>(starts.size())}};
  for (const int64_t t : starts) layout->row.push_back(static_cast<int32_t>(t));
  batch.layout = layout;
  for (int64_t k = 0; k < steps; ++k) {
    TttBatch::Step step;
    for (const int64_t t : starts)
      step.truth.push_back(row.supervised(t, k) ? row.ids[static_cast<size_t>(t + 2 + k)] : -1);
    batch.steps.push_back(step);
  }
  return batch;
}

ObjectiveResult drafts(const TttBatch& batch, const std::vector<std::vector<int>>& right) {
  ObjectiveResult result;
  for (size_t k = 0; k < batch.steps.size(); ++k) {
    StepResult step;
    for (size_t a = 0; a < right.size(); ++a)
      step.drafted.push_back(right[a][k] != 0 ? batch.steps[k].truth[a] : 1);
    result.steps.push_back(step);
  }
  return result;
}

TEST(Acceptance, WalksLikeTheEngine) {
  const TttBatch batch = answer_batch(3, 7, 3);
  ASSERT_EQ(batch.active(), 6);
  // Start 0 (a0 known): 2 right -> a1 a2 and the bonus a3. Then start 3 (a3 known): nothing right
  // -> a4. Then start 4: both remaining right (a5 a6), the end: no bonus.
  const ObjectiveResult result =
      drafts(batch, {{1, 1, 0}, {1, 1, 1}, {1, 0, 1}, {0, 1, 1}, {1, 1, 0}, {1, 0, 0}});
  const Acceptance counts = count_acceptance(batch, result);
  EXPECT_EQ(counts.verifications, 3);
  EXPECT_EQ(counts.produced, 6);
  EXPECT_DOUBLE_EQ(counts.length(), 2.0);
  // Step 0: all six starts have a target, five are right. Step 1: five starts have one.
  EXPECT_EQ(counts.supervised, (std::vector<int64_t>{6, 5, 4}));
  EXPECT_EQ(counts.matched, (std::vector<int64_t>{5, 4, 3}));
  // Alive at step 1: starts 0, 1, 2, 4 (right at step 0, with a target). Alive at step 2: 0, 1.
  EXPECT_EQ(counts.reached, (std::vector<int64_t>{6, 4, 2}));
  EXPECT_EQ(counts.accepted, (std::vector<int64_t>{5, 3, 1}));
  EXPECT_DOUBLE_EQ(counts.chain(2), 0.5);
  EXPECT_DOUBLE_EQ(counts.forced(2), 0.75);
}

TEST(Acceptance, NothingRightIsOneTokenAVerification) {
  const TttBatch batch = answer_batch(2, 9, 4);
  const Acceptance counts =
      count_acceptance(batch, drafts(batch, std::vector<std::vector<int>>(8, {0, 0, 0, 0})));
  EXPECT_DOUBLE_EQ(counts.length(), 1.0);
}

TEST(Acceptance, AllRightIsAllAndTheBonus) {
  // 1 + 10 tokens, 4 drafted: 5 + 5.
  const TttBatch batch = answer_batch(2, 11, 4);
  const Acceptance counts =
      count_acceptance(batch, drafts(batch, std::vector<std::vector<int>>(10, {1, 1, 1, 1})));
  EXPECT_EQ(counts.verifications, 2);
  EXPECT_EQ(counts.produced, 10);
}

TEST(Acceptance, AddsUp) {
  const TttBatch batch = answer_batch(2, 11, 4);
  const Acceptance one =
      count_acceptance(batch, drafts(batch, std::vector<std::vector<int>>(10, {1, 0, 1, 1})));
  Acceptance two(4);
  two.add(one);
  two.add(one);
  EXPECT_EQ(two.verifications, 2 * one.verifications);
  EXPECT_DOUBLE_EQ(two.length(), one.length());
  EXPECT_DOUBLE_EQ(two.chain(0), 1.0);
  EXPECT_DOUBLE_EQ(two.chain(1), 0.0);
  EXPECT_EQ(Acceptance(4).length(), 0.0);
}

// The gate between training and serving: the engine with the trained head accepts what the
// evaluation on held-out rows says.
TEST(Acceptance, ServingAcceptsWhatTheEvaluationSays) {
  set_progress_mode(ProgressMode::kSilent);
  testing_speculator::ToyTraining toy(200);
  const auto work = std::filesystem::path(testing::TempDir()) / "acceptance_served";
  std::filesystem::remove_all(work);
  const TrainResult trained = train_eagle3_head(
      toy.config, toy.data(), testing_speculator::ToyTraining::options(150), work, "k"
  );
  Eagle3Head head;
  head.config = toy.config;
  head.weights = trained.weights;
  head.draft_to_target = toy.vocabulary;
  EngineOptions options;
  options.draft_tokens = 3;
  Engine engine(toy.target, nullptr, options, make_eagle3_proposer(head, toy.table));
  std::vector<Request> requests;
  for (const TrainingRow& row : toy.rows.held_out) {
    const auto prompt = std::count(row.mask.begin(), row.mask.end(), uint8_t{0});
    Request request;
    request.prompt.assign(row.ids.begin(), row.ids.begin() + prompt);
    request.max_tokens = row.length() - prompt;
    requests.push_back(request);
  }
  int64_t verifications = 0;
  int64_t produced = 0;
  const std::vector<Completion> completions = engine.generate(requests);
  for (size_t i = 0; i < completions.size(); ++i) {
    const std::vector<int32_t>& ids = toy.rows.held_out[i].ids;
    EXPECT_EQ(
        completions[i].ids, std::vector<int32_t>(ids.end() - requests[i].max_tokens, ids.end())
    );
    // The first token comes with the prompt.
    verifications += completions[i].stats.verifications - 1;
    produced += completions[i].stats.output_tokens - 1;
  }
  ASSERT_GT(trained.held_out.length(), 1.5);  // there is something to compare
  // Training kept the features in BF16: a draft may flip here and there.
  const double served = static_cast<double>(produced) / static_cast<double>(verifications);
  EXPECT_NEAR(served, trained.held_out.length(), 0.03 * served);
}

}  // namespace
}  // namespace hone
