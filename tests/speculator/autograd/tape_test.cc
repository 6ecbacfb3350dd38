#include "speculator/autograd/tape.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "speculator/autograd/ops.h"

namespace hone {
namespace {

TEST(Tape, OnlyWhatDependsOnParametersNeedsGradients) {
  const std::vector<float> x = {1, 2};
  std::vector<float> g(2);
  Tape tape;
  const Var c = tape.constant(x.data(), 1, 2);
  const Var p = tape.parameter(x.data(), g.data(), 1, 2);
  EXPECT_FALSE(tape.needs_grad(add(tape, c, c)));
  EXPECT_TRUE(tape.needs_grad(add(tape, c, p)));
  EXPECT_THROW(tape.backward(sum(tape, c)), InternalError);
  EXPECT_THROW(tape.backward(add(tape, c, p)), InternalError);  // no scalar
}

TEST(Tape, WithoutRecordingNothingNeedsGradients) {
  const std::vector<float> x = {1, 2};
  std::vector<float> g(2);
  Tape tape;
  tape.set_recording(false);
  const Var p = tape.parameter(x.data(), g.data(), 1, 2);
  EXPECT_FALSE(tape.needs_grad(scale(tape, p, 2.0F)));
}

TEST(Tape, MemoryIsUsedAgain) {
  const std::vector<float> x(4096, 1.0F);
  std::vector<float> g(4096);
  Tape tape;
  int64_t first = 0;
  for (int i = 0; i < 5; ++i) {
    tape.reset();
    Var v = tape.parameter(x.data(), g.data(), 64, 64);
    for (int k = 0; k < 10; ++k) v = scale(tape, v, 0.5F);
    tape.backward(sum(tape, v));
    if (i == 0) first = tape.memory_bytes();
  }
  EXPECT_GT(first, 0);
  EXPECT_EQ(tape.memory_bytes(), first);
}

TEST(Tape, DeepChainsMultiply) {
  const std::vector<float> x = {3};
  std::vector<float> g(1);
  Tape tape;
  Var v = tape.parameter(x.data(), g.data(), 1, 1);
  for (int k = 0; k < 20; ++k) v = scale(tape, v, 2.0F);
  const Var loss = sum(tape, v);
  EXPECT_EQ(tape.value(loss)[0], 3.0F * 1048576.0F);
  tape.backward(loss);
  EXPECT_EQ(g[0], 1048576.0F);
}

TEST(Tape, BranchesWithoutGradientAreSkipped) {
  // `unused` hangs on the parameter but the loss does not depend on it.
  const std::vector<float> x = {3, 4};
  std::vector<float> g(2);
  Tape tape;
  const Var p = tape.parameter(x.data(), g.data(), 1, 2);
  const Var used = scale(tape, p, 5.0F);
  const Var unused = mul(tape, p, p);
  tape.backward(sum(tape, used));
  EXPECT_EQ(g, (std::vector<float>{5, 5}));
  (void)unused;
}

}  // namespace
}  // namespace hone
