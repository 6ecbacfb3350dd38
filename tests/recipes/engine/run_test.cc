// Running, skipping, resuming: recipes/engine/run.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recipes/engine/recipe.h"
#include "tests/recipes/engine/fake_step.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

std::unique_ptr<Step> factory(std::string_view kind) {
  require(kind == "fake", "unknown step {}", kind);
  return std::make_unique<FakeStep>();
}

class Run : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        fs::path(::testing::TempDir()) /
        (std::string("run_") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    recipe_.name = "test";
    recipe_.output = folder_;
    add("a", {{"text", "A"}});
    add("b", {{"source", (folder_ / "a" / "result.txt").string()}, {"text", "B"}});
    add("c", {{"source", (folder_ / "b" / "result.txt").string()}, {"text", "C"}});
    FakeStep::runs() = 0;
  }
  void TearDown() override { fs::remove_all(folder_); }

  void add(const std::string& id, Json with) {
    with["output"] = (folder_ / id).string();
    recipe_.steps.push_back({id, "fake", std::move(with), false});
  }
  RecipeResult run(const RecipeRunOptions& options = {}) {
    return run_recipe(recipe_, factory, options);
  }
  [[nodiscard]] std::string result(const std::string& id) const {
    return read_text_file(folder_ / id / "result.txt");
  }

  fs::path folder_;
  Recipe recipe_;
};

TEST_F(Run, StepsRunInOrder) {
  run();
  EXPECT_EQ(result("c"), "ABC");
  EXPECT_EQ(FakeStep::runs(), 3);
}

TEST_F(Run, FinishedStepsAreSkipped) {
  run();
  const RecipeResult again = run();
  EXPECT_EQ(FakeStep::runs(), 3);
  for (const StepRecord& record : again.records) EXPECT_TRUE(record.skipped) << record.id;
  EXPECT_EQ(again.records[2].outcome.summary.at("length"), 3);
}

TEST_F(Run, AChangeReachesOnlyWhatDependsOnIt) {
  run();
  recipe_.steps[1].with["text"] = "b";
  run();
  EXPECT_EQ(FakeStep::runs(), 5);
  EXPECT_EQ(result("c"), "AbC");
}

TEST_F(Run, AFailedRunResumesAtTheFailedStep) {
  recipe_.steps[1].with["fail"] = true;
  EXPECT_THROW(run(), DataError);
  EXPECT_EQ(FakeStep::runs(), 2);
  recipe_.steps[1].with["fail"] = false;
  run();
  EXPECT_EQ(FakeStep::runs(), 4);
  EXPECT_EQ(result("c"), "ABC");
}

TEST_F(Run, FromRunsTheRestAnew) {
  run();
  RecipeRunOptions options;
  options.from = "b";
  run(options);
  EXPECT_EQ(FakeStep::runs(), 5);
}

TEST_F(Run, OnlyRunsOneStep) {
  RecipeRunOptions options;
  options.only = "a";
  EXPECT_EQ(run(options).records.size(), 1U);
  EXPECT_EQ(FakeStep::runs(), 1);
  options.only = "nowhere";
  EXPECT_THROW(run(options), UsageError);
}

TEST_F(Run, DryRunDoesNothing) {
  RecipeRunOptions options;
  options.dry_run = true;
  EXPECT_EQ(run(options).records.size(), 3U);
  EXPECT_EQ(FakeStep::runs(), 0);
  EXPECT_FALSE(fs::exists(folder_));
}

TEST_F(Run, OnlyGatesStopTheRecipe) {
  recipe_.steps[0].with["verdict"] = 3;
  EXPECT_EQ(run().exit_code, 0);
  EXPECT_EQ(result("c"), "ABC");
  recipe_.steps[0].gate = true;
  RecipeRunOptions options;
  options.from = "a";
  const RecipeResult stopped = run(options);
  EXPECT_EQ(stopped.exit_code, 3);
  EXPECT_EQ(stopped.records.size(), 1U);
}

TEST_F(Run, MistakesAreFoundBeforeTheFirstStepRuns) {
  recipe_.steps[2].with["tims"] = 3;
  EXPECT_THROW(run(), UsageError);
  EXPECT_EQ(FakeStep::runs(), 0);
}

}  // namespace
}  // namespace hone
