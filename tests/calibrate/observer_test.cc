#include "calibrate/observer.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/rng.h"
#include "core/base/threads.h"

namespace hone {
namespace {

Tensor rows_of(const std::vector<std::vector<float>>& values) {
  Tensor rows(
      DType::kF32,
      Shape{static_cast<int64_t>(values.size()), static_cast<int64_t>(values.front().size())}
  );
  size_t i = 0;
  for (const auto& row : values) {
    for (const float x : row) rows.as<float>()[i++] = x;
  }
  return rows;
}

constexpr TapPoint kPoint{TapKind::kLinearInput, 0, "layer.q"};

TEST(InputObserver, AmaxAndMeanSquareOverSeveralCalls) {
  InputObserver observer;
  EXPECT_TRUE(observer.wants(kPoint));
  EXPECT_FALSE(observer.wants({TapKind::kBlockOutput, 0, ""}));
  observer.on(kPoint, rows_of({{1, -2}, {3, 0.5}}).view());
  observer.on(kPoint, rows_of({{-5, 1}}).view());
  CalibrationStats stats;
  observer.finish(stats);
  const ModuleStats& module = stats.modules.at("layer.q");
  EXPECT_EQ(module.tokens, 3);
  EXPECT_EQ(module.cols, 2);
  EXPECT_EQ(module.input_amax, 5);
  EXPECT_EQ(module.input_channel_amax, (std::vector<float>{5, 2}));
  EXPECT_DOUBLE_EQ(module.input_mean_square[0], (1.0 + 9 + 25) / 3);
  EXPECT_DOUBLE_EQ(module.input_mean_square[1], (4.0 + 0.25 + 1) / 3);
}

TEST(InputObserver, ThreadsDoNotChangeTheSums) {
  Tensor rows(DType::kF32, Shape{50, 1000});
  Rng rng(3);
  for (float& x : rows.as<float>()) x = static_cast<float>(rng.normal());
  CalibrationStats one;
  CalibrationStats three;
  ThreadPool::set_threads(1);
  InputObserver a;
  a.on(kPoint, rows.view());
  a.finish(one);
  ThreadPool::set_threads(3);
  InputObserver b;
  b.on(kPoint, rows.view());
  b.finish(three);
  EXPECT_EQ(
      one.modules.at("layer.q").input_mean_square, three.modules.at("layer.q").input_mean_square
  );
}

TEST(InputObserver, NaNNamesTheModuleAndChannel) {
  InputObserver observer;
  try {
    observer.on(kPoint, rows_of({{1, std::numeric_limits<float>::quiet_NaN()}}).view());
    FAIL() << "NaN was taken";
  } catch (const DataError& e) {
    EXPECT_THAT(e.what(), ::testing::HasSubstr("layer.q"));
    EXPECT_THAT(e.what(), ::testing::HasSubstr("channel 1"));
  }
}

}  // namespace
}  // namespace hone
