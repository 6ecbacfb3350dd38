#include "runtime/op/add.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/runtime/op/random_data.h"

namespace hone {
namespace {

TEST(Add, AddsElementByElement) {
  for (const size_t n : {0, 1, 17, 200001}) {
    const std::vector<float> x = testing_op::random_floats(n, 1);
    const std::vector<float> before = testing_op::random_floats(n, 2);
    std::vector<float> y = before;
    add(x, y);
    for (size_t i = 0; i < n; ++i) ASSERT_EQ(y[i], before[i] + x[i]);
  }
  std::vector<float> a(3);
  std::vector<float> b(4);
  EXPECT_THROW(add(a, b), UsageError);
}

TEST(Add, AddsTheBiasToEveryRow) {
  const std::vector<float> bias = {1.0F, 2.0F, 3.0F};
  std::vector<float> y = {0.0F, 0.0F, 0.0F, 10.0F, 20.0F, 30.0F};
  add_bias(bias, y);
  EXPECT_EQ(y, (std::vector<float>{1.0F, 2.0F, 3.0F, 11.0F, 22.0F, 33.0F}));
  std::vector<float> wrong(4);
  EXPECT_THROW(add_bias(bias, wrong), UsageError);
  EXPECT_THROW(add_bias({}, wrong), UsageError);
}

}  // namespace
}  // namespace hone
