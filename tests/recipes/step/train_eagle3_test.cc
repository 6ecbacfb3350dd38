#include "recipes/step/train_eagle3.h"

#include <filesystem>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/base/cancel.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/progress.h"
#include "core/base/threads.h"
#include "recipes/engine/manifest.h"
#include "recipes/step/bench_decode.h"
#include "runtime/engine/loaded_model.h"
#include "runtime/spec/eagle3.h"

namespace hone {
namespace {

using testing::HasSubstr;

std::filesystem::path demo() {
  return std::filesystem::path(HONE_SOURCE_DIR) / "recipes/demo";
}

std::filesystem::path fresh(const std::string& name) {
  set_progress_mode(ProgressMode::kSilent);
  // Thousands of tiny passes: on a busy machine, waiting for other threads would take minutes.
  ThreadPool::set_threads(1);
  const auto path = std::filesystem::path(testing::TempDir()) /
                    ("train_eagle3_" + std::to_string(::getpid()) + "_" + name);
  std::filesystem::remove_all(path);
  std::filesystem::remove_all(path.string() + ".work");
  return path;
}

// A few steps on a few prompts: it shows the plumbing, not a good head.
TrainEagle3Step small_step(const std::filesystem::path& output) {
  TrainEagle3Step step;
  step.target = demo().string();
  step.data = (demo() / "traces.jsonl").string();
  step.output = output.string();
  step.limit = 24;
  step.max_new_tokens = 24;
  step.held_out = 0.2;
  step.steps = 6;
  step.batch_tokens = 96;
  step.ttt_steps = 2;
  step.checkpoint_every = 2;
  step.intermediate = 64;
  return step;
}

std::map<std::string, std::string> bytes_of(const std::filesystem::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    files[entry.path().filename().string()] = read_text_file(entry.path());
  return files;
}

const std::filesystem::path& trained() {
  static const std::filesystem::path folder = [] {
    const auto path = fresh("shared");
    small_step(path).run();
    return path;
  }();
  return folder;
}

TEST(TrainEagle3Step, WritesAHeadThatServesItsTarget) {
  const auto files = bytes_of(trained());
  for (const char* name :
       {"config.json", "model.safetensors", "metrics.jsonl", "README.md", "hone.json"})
    EXPECT_TRUE(files.contains(name)) << name;
  EXPECT_FALSE(std::filesystem::exists(trained().string() + ".work"));
  const LoadedModel loaded = load_model(demo());
  const Eagle3Loaded head = load_eagle3_proposer(trained(), *loaded.model);
  EXPECT_EQ(head.fit, TargetFit::kExact);
  EXPECT_EQ(head.config.taps, (std::vector<int64_t>{0, 2, 4}));
  EXPECT_EQ(head.config.draft_vocab, 1024);
  EXPECT_THAT(files.at("README.md"), HasSubstr("--speculative-algorithm EAGLE3"));
  EXPECT_THAT(files.at("README.md"), testing::Not(HasSubstr(testing::TempDir())));
  TrainEagle3Step again = small_step(trained());
  StepOutcome recorded;
  EXPECT_TRUE(is_finished(again, cache_key(again), recorded));
  EXPECT_EQ(recorded.summary["steps"], 6);
}

TEST(TrainEagle3Step, InterruptedOrNotTheBytesAreTheSame) {
  const auto path = fresh("interrupted");
  TrainEagle3Step step = small_step(path);
  request_cancel();
  EXPECT_THROW(step.run(), Cancelled);
  reset_cancel();
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE(std::filesystem::exists(step.work_folder() / "answers.jsonl"));
  step.run();
  EXPECT_EQ(bytes_of(path), bytes_of(trained()));
}

TEST(TrainEagle3Step, RefusesWhatCannotBe) {
  const std::pair<const char*, void (*)(TrainEagle3Step&)> cases[] = {
      {"--taps",
       [](TrainEagle3Step& s) {
         s.taps = {"0", "two"};
       }},
      {"last layer",
       [](TrainEagle3Step& s) {
         s.taps = {"0", "5"};
       }},
      {"draft_vocab", [](TrainEagle3Step& s) { s.draft_vocab = 4096; }},
      {"--dtype", [](TrainEagle3Step& s) { s.dtype = "fp8"; }},
      {"--data", [](TrainEagle3Step& s) { s.data = ""; }},
      {"--lr", [](TrainEagle3Step& s) { s.lr = -1; }},
      {"--decay", [](TrainEagle3Step& s) { s.decay = 1.5; }},
      {"--max-new-tokens", [](TrainEagle3Step& s) { s.max_new_tokens = 1; }},
      {"heads", [](TrainEagle3Step& s) { s.kv_heads = 3; }},
      {"profile", [](TrainEagle3Step& s) { s.profile = "volta"; }},
  };
  for (const auto& [reason, change] : cases) {
    TrainEagle3Step step = small_step(fresh("refused"));
    change(step);
    try {
      step.run();
      ADD_FAILURE() << reason;
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), HasSubstr(reason));
    }
    EXPECT_FALSE(std::filesystem::exists(step.output));
  }
}

TEST(BenchDecodeStep, ProvesEqualTextAndCountsAcceptance) {
  for (const double temperature : {0.0, 1.0}) {
    BenchDecodeStep bench;
    bench.model = demo().string();
    bench.draft = trained().string();
    bench.prompts = (demo() / "eval_tools.jsonl").string();
    bench.output = fresh("bench").string();
    bench.limit = 6;
    bench.max_new_tokens = 32;
    bench.batch = 2;
    bench.temperature = temperature;
    const StepOutcome outcome = bench.run();
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(outcome.summary["identical"], true);
    EXPECT_GE(outcome.summary["acceptance_length"].get<double>(), 1.0);
    EXPECT_LE(outcome.summary["acceptance_length"].get<double>(), 5.0);
    EXPECT_EQ(outcome.summary["prompts"], 6);
    EXPECT_GT(outcome.summary["speed"]["plain"]["tokens_per_second"].get<double>(), 0);
    EXPECT_THAT(bench_table(outcome), HasSubstr("identical"));
    // Speeds are no part of what is hashed.
    const auto files = bytes_of(bench.output);
    EXPECT_THAT(files.at("bench.json"), testing::Not(HasSubstr("tokens_per_second")));
    EXPECT_THAT(files.at("hone.json"), testing::Not(HasSubstr("tokens_per_second")));
    EXPECT_THAT(files.at("hone.run.json"), HasSubstr("tokens_per_second"));
  }
}

TEST(BenchDecodeStep, MeasuresPlainDecodingWithoutAHead) {
  BenchDecodeStep bench;
  bench.model = demo().string();
  bench.prompts = (demo() / "eval_math.jsonl").string();
  bench.limit = 2;
  bench.max_new_tokens = 8;
  const StepOutcome outcome = bench.run();
  EXPECT_FALSE(outcome.summary.contains("acceptance_length"));
  EXPECT_THAT(bench_table(outcome), testing::Not(HasSubstr("speculative")));
  bench.prompts = "";
  EXPECT_THROW(bench.run(), UsageError);
}

}  // namespace
}  // namespace hone
