#include "speculator/train/checkpoint.h"

#include <cmath>
#include <filesystem>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/file.h"

namespace hone {
namespace {

std::filesystem::path fresh(const std::string& name) {
  const auto path = std::filesystem::path(testing::TempDir()) / name;
  std::filesystem::remove_all(path);
  return path;
}

TEST(TrainingState, ComesBackBitForBit) {
  const auto path = fresh("training_state.safetensors");
  const TrainingState state{"key", 42, {1.5F, -0.0F, 1e-42F}, {1, 2, 3}, {4, 5, 6}};
  save_training_state(path, state);
  const auto loaded = load_training_state(path, "key", 3);
  ASSERT_TRUE(loaded.has_value());
  EXPECT_EQ(loaded->step, 42);
  EXPECT_EQ(loaded->weights, state.weights);
  EXPECT_TRUE(std::signbit(loaded->weights[1]));
  EXPECT_EQ(loaded->first_moment, state.first_moment);
  EXPECT_EQ(loaded->second_moment, state.second_moment);
}

TEST(TrainingState, OfAnotherRunIsNotContinued) {
  const auto path = fresh("training_state_other.safetensors");
  EXPECT_FALSE(load_training_state(path, "key", 3).has_value());
  save_training_state(path, {"key", 42, {1, 2, 3}, {1, 2, 3}, {4, 5, 6}});
  EXPECT_FALSE(load_training_state(path, "other", 3).has_value());
  EXPECT_FALSE(load_training_state(path, "key", 4).has_value());
}

TEST(TrainingState, BrokenFilesAreNamed) {
  const auto path = fresh("training_state_broken.safetensors");
  save_training_state(path, {"key", 42, {1, 2, 3}, {1, 2, 3}, {4, 5, 6}});
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 4);
  EXPECT_THROW(load_training_state(path, "key", 3), DataError);
}

TEST(TrainingState, FullDiskLeavesTheOldOne) {
  const auto path = fresh("training_state_full.safetensors");
  save_training_state(path, {"key", 1, {1, 2, 3}, {1, 2, 3}, {4, 5, 6}});
  inject_write_fault_after(100);
  EXPECT_THROW(save_training_state(path, {"key", 2, {1, 2, 3}, {1, 2, 3}, {4, 5, 6}}), DataError);
  inject_write_fault_after(-1);
  EXPECT_EQ(load_training_state(path, "key", 3)->step, 1);
}

}  // namespace
}  // namespace hone
