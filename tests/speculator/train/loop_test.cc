#include "speculator/train/loop.h"

#include <chrono>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/progress.h"
#include "core/base/threads.h"
#include "core/device/cpu_isa.h"
#include "speculator/train/checkpoint.h"
#include "speculator/train/head_weights.h"
#include "tests/speculator/train/toy_training.h"

namespace hone {
namespace {

using testing_speculator::ToyTraining;

std::filesystem::path fresh(const std::string& name) {
  set_progress_mode(ProgressMode::kSilent);
  const auto path = std::filesystem::path(testing::TempDir()) / name;
  std::filesystem::remove_all(path);
  return path;
}

std::vector<std::vector<float>> bits(const TrainResult& result) {
  std::vector<std::vector<float>> all;
  for (const Tensor* tensor : eagle3_members(result.weights)) {
    const std::span<const float> values = tensor->as<float>();
    all.emplace_back(values.begin(), values.end());
  }
  return all;
}

TEST(Loop, LearnsTheToyTarget) {
  ToyTraining toy;
  const TrainResult result = train_eagle3_head(
      toy.config, toy.data(), ToyTraining::options(400), fresh("loop_learns"), "k"
  );
  EXPECT_LT(result.last_loss, 0.5 * result.first_loss);
  // Three drafted tokens of a rule that two tokens decide: up to 4 a verification.
  EXPECT_GT(result.held_out.length(), 2.0);
  EXPECT_GT(result.held_out.chain(0), 0.6);
  EXPECT_EQ(result.metrics.size(), 400U);
  EXPECT_TRUE(result.metrics.back().contains("held_out"));
  EXPECT_FALSE(result.metrics.front().contains("held_out"));
}

TEST(Loop, DoesNotDependOnThreadsKeptFeaturesOrInstructionSet) {
  std::vector<std::vector<std::vector<float>>> results;
  for (const int threads : {1, 2, 3}) {
    ThreadPool::set_threads(threads);
    if (threads == 2) set_cpu_isa(CpuIsa::kAvx2);
    ToyTraining toy(40);
    TrainOptions options = ToyTraining::options(25);
    if (threads == 3) options.feature_memory = 0;
    results.push_back(
        bits(train_eagle3_head(toy.config, toy.data(), options, fresh("loop_threads"), "k"))
    );
    set_cpu_isa(std::nullopt);
  }
  ThreadPool::set_threads(2);
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

TEST(Loop, AnInterruptedRunEndsWithTheSameBits) {
  ToyTraining toy(40);
  const TrainOptions options = ToyTraining::options(45);
  const TrainResult whole =
      train_eagle3_head(toy.config, toy.data(), options, fresh("loop_whole"), "k");
  const auto work = fresh("loop_interrupted");
  for (const int64_t stop : {27, 38}) {
    EXPECT_THROW(
        train_eagle3_head(
            toy.config,
            toy.data(),
            options,
            work,
            "k",
            [&](int64_t step) {
              if (step == stop) throw std::runtime_error("interrupted");
            }
        ),
        std::runtime_error
    );
    // The last checkpoint is at a multiple of ten.
    EXPECT_TRUE(std::filesystem::exists(work / "training.safetensors"));
  }
  int64_t first = 0;
  const TrainResult resumed =
      train_eagle3_head(toy.config, toy.data(), options, work, "k", [&](int64_t step) {
        if (first == 0) first = step;
      });
  EXPECT_EQ(first, 31);
  EXPECT_EQ(bits(resumed), bits(whole));
  EXPECT_EQ(resumed.metrics, whole.metrics);
}

TEST(Loop, AStateOfOtherOptionsIsNotContinued) {
  ToyTraining toy(40);
  const auto work = fresh("loop_other_key");
  TrainOptions options = ToyTraining::options(25);
  train_eagle3_head(toy.config, toy.data(), options, work, "k");
  int64_t first = 0;
  train_eagle3_head(toy.config, toy.data(), options, work, "other", [&](int64_t step) {
    if (first == 0) first = step;
  });
  EXPECT_EQ(first, 1);
}

TEST(Loop, ADivergingRunSaysSo) {
  ToyTraining toy(40);
  TrainOptions options = ToyTraining::options(60);
  options.rate.peak = 1e30;
  options.adam.clip_norm = 0;
  EXPECT_THROW(
      train_eagle3_head(toy.config, toy.data(), options, fresh("loop_diverges"), "k"), DataError
  );
}

TEST(Loop, RefusesNothingToDo) {
  ToyTraining toy(40);
  TrainOptions options = ToyTraining::options(0);
  options.epochs = 0;
  EXPECT_THROW(
      train_eagle3_head(toy.config, toy.data(), options, fresh("loop_nothing"), "k"), UsageError
  );
  options = ToyTraining::options(5);
  options.ttt_steps = 0;
  EXPECT_THROW(
      train_eagle3_head(toy.config, toy.data(), options, fresh("loop_nothing"), "k"), UsageError
  );
  toy.rows.train.clear();
  EXPECT_THROW(
      train_eagle3_head(
          toy.config, toy.data(), ToyTraining::options(5), fresh("loop_nothing"), "k"
      ),
      UsageError
  );
}

// The run that is killed below, in a process of its own. It writes its folder's name from the
// parent's id and slows down so that the parent can strike in the middle.
TEST(Loop, DISABLED_VictimOfKill) {
  const auto work =
      std::filesystem::path(testing::TempDir()) / ("loop_killed_" + std::to_string(getppid()));
  set_progress_mode(ProgressMode::kSilent);
  ToyTraining toy(40);
  train_eagle3_head(toy.config, toy.data(), ToyTraining::options(45), work, "k", [](int64_t step) {
    if (step > 25) std::this_thread::sleep_for(std::chrono::milliseconds(200));
  });
}

TEST(Loop, AKilledRunEndsWithTheSameBits) {
  const auto work = fresh("loop_killed_" + std::to_string(getpid()));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    execl(
        "/proc/self/exe",
        "test",
        "--gtest_filter=Loop.DISABLED_VictimOfKill",
        "--gtest_also_run_disabled_tests",
        static_cast<char*>(nullptr)
    );
    _exit(127);
  }
  // Strike when the checkpoint of step 20 is there; step 30's comes a second later.
  const auto state = work / "training.safetensors";
  const size_t size = HeadWeights(ToyTraining(1).config).values().size();
  bool found = false;
  for (int i = 0; i < 3000 && !found; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (!std::filesystem::exists(state)) continue;
    try {
      const auto loaded = load_training_state(state, "k", size);
      found = loaded.has_value() && loaded->step == 20;
    } catch (const Error& error) {
      ADD_FAILURE() << "a half-written state was there: " << error.what();
      break;
    }
  }
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(found);
  ASSERT_TRUE(WIFSIGNALED(status));

  ToyTraining toy(40);
  const TrainOptions options = ToyTraining::options(45);
  int64_t first = 0;
  const TrainResult resumed =
      train_eagle3_head(toy.config, toy.data(), options, work, "k", [&](int64_t step) {
        if (first == 0) first = step;
      });
  EXPECT_EQ(first, 21);
  const TrainResult whole =
      train_eagle3_head(toy.config, toy.data(), options, fresh("loop_not_killed"), "k");
  EXPECT_EQ(bits(resumed), bits(whole));
}

}  // namespace
}  // namespace hone
