#include "recipes/engine/manifest.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/hash.h"
#include "tests/recipes/engine/fake_step.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

class Manifest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              (std::string("manifest_") +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    write_text_file(folder_ / "in.txt", "input");
    step_.source = (folder_ / "in.txt").string();
    step_.output = (folder_ / "out").string();
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] Json manifest() const { return read_json_file(folder_ / "out" / "hone.json"); }
  bool finished() {
    StepOutcome outcome;
    return is_finished(step_, cache_key(step_), outcome);
  }

  fs::path folder_;
  FakeStep step_;
};

TEST_F(Manifest, HoldsHashesOfInputsAndOutputs) {
  step_.run();
  const Json m = manifest();
  EXPECT_EQ(m.at("step"), "fake");
  EXPECT_EQ(m.at("hone"), kHoneVersion);
  EXPECT_EQ(m.at("inputs").at("source"), sha256("input"));
  EXPECT_EQ(m.at("outputs").at("result.txt"), sha256("inputx"));
  EXPECT_EQ(m.at("options").at("text"), "x");
  // Nothing in it depends on where it was made.
  EXPECT_THAT(dump_json(m), ::testing::Not(::testing::HasSubstr(folder_.string())));
}

TEST_F(Manifest, SameInputsAndOptionsGiveTheSameBytes) {
  step_.run();
  const std::string first = read_text_file(folder_ / "out" / "hone.json");
  FakeStep again = step_;
  again.output = (folder_ / "elsewhere").string();
  again.run();
  EXPECT_EQ(first, read_text_file(folder_ / "elsewhere" / "hone.json"));
}

TEST_F(Manifest, FinishedMeansCompleteAndUnchanged) {
  EXPECT_FALSE(finished());
  step_.run();
  StepOutcome outcome;
  ASSERT_TRUE(is_finished(step_, cache_key(step_), outcome));
  EXPECT_EQ(outcome.summary.at("length"), 6);
}

TEST_F(Manifest, ChangedOptionIsNotFinished) {
  step_.run();
  step_.text = "y";
  EXPECT_FALSE(finished());
}

TEST_F(Manifest, ChangedInputIsNotFinished) {
  step_.run();
  write_text_file(folder_ / "in.txt", "other");
  EXPECT_FALSE(finished());
}

TEST_F(Manifest, EditedOutputIsNotFinished) {
  step_.run();
  write_text_file(folder_ / "out" / "result.txt", "edited");
  EXPECT_FALSE(finished());
}

TEST_F(Manifest, MissingAndAdditionalFilesAreNotFinished) {
  step_.run();
  write_text_file(folder_ / "out" / "more.txt", "");
  EXPECT_FALSE(finished());
  fs::remove(folder_ / "out" / "more.txt");
  EXPECT_TRUE(finished());
  fs::remove(folder_ / "out" / "result.txt");
  EXPECT_FALSE(finished());
}

TEST_F(Manifest, FailedStepLeavesNothing) {
  step_.fail = true;
  EXPECT_THROW(step_.run(), DataError);
  EXPECT_FALSE(fs::exists(folder_ / "out"));
  EXPECT_FALSE(finished());
}

TEST_F(Manifest, FolderHashIgnoresManifestsAndOrderOfCreation) {
  fs::create_directories(folder_ / "a");
  fs::create_directories(folder_ / "b");
  write_text_file(folder_ / "a" / "1", "one");
  write_text_file(folder_ / "a" / "2", "two");
  write_text_file(folder_ / "b" / "2", "two");
  write_text_file(folder_ / "b" / "1", "one");
  write_text_file(folder_ / "b" / "hone.run.json", "{}");
  EXPECT_EQ(hash_path(folder_ / "a"), hash_path(folder_ / "b"));
  write_text_file(folder_ / "b" / "1", "ONE");
  EXPECT_NE(hash_path(folder_ / "a"), hash_path(folder_ / "b"));
  EXPECT_THROW(hash_path(folder_ / "missing"), DataError);
}

}  // namespace
}  // namespace hone
