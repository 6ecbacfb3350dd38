#include "speculator/train/head_weights.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/speculator/train/toy_training.h"

namespace hone {
namespace {

using testing_speculator::ToyTraining;

TEST(HeadWeights, PartsCoverTheVectorInTheOrderOfTheNames) {
  const ToyTraining toy;
  const HeadWeights weights(toy.config);
  int64_t offset = 0;
  const auto specs = eagle3_tensors(toy.config);
  ASSERT_EQ(weights.parts().size(), specs.size());
  for (size_t i = 0; i < specs.size(); ++i) {
    EXPECT_EQ(weights.parts()[i].name, specs[i].name);
    EXPECT_EQ(weights.parts()[i].offset, offset);
    offset += specs[i].shape.numel();
  }
  EXPECT_EQ(static_cast<int64_t>(weights.values().size()), offset);
}

TEST(HeadWeights, StartFromTheTargetsHeadAndLastTap) {
  ToyTraining toy;
  HeadWeights weights(toy.config);
  weights.initialize(toy.config, toy.table, toy.vocabulary, 3);
  const Eagle3Parameters<Tensor> tensors = weights.tensors();
  for (size_t i = 0; i < toy.vocabulary.size(); ++i)
    for (size_t c = 0; c < 16; ++c)
      EXPECT_EQ(
          tensors.lm_head.as<float>()[i * 16 + c],
          toy.table.as<float>()[static_cast<size_t>(toy.vocabulary[i]) * 16 + c]
      );
  double diagonal = 0;
  double others = 0;
  for (size_t row = 0; row < 16; ++row)
    for (size_t c = 0; c < 48; ++c) {
      const double x = tensors.fc.as<float>()[row * 48 + c];
      if (c == 32 + row)
        diagonal += x / 16;
      else
        others += x * x / (16 * 47);
    }
  EXPECT_NEAR(diagonal, 1.0, 0.05);
  EXPECT_LT(std::sqrt(others), 0.03);
  for (const float x : tensors.norm.as<float>()) EXPECT_EQ(x, 1.0F);
}

TEST(HeadWeights, AreAFunctionOfTheSeed) {
  ToyTraining toy;
  HeadWeights a(toy.config);
  HeadWeights b(toy.config);
  HeadWeights c(toy.config);
  a.initialize(toy.config, toy.table, toy.vocabulary, 3);
  b.initialize(toy.config, toy.table, toy.vocabulary, 3);
  c.initialize(toy.config, toy.table, toy.vocabulary, 4);
  EXPECT_EQ(a.values(), b.values());
  EXPECT_NE(a.values(), c.values());
}

}  // namespace
}  // namespace hone
