#include "runtime/op/silu_mul.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/reference/ops.h"
#include "tests/reference/tolerance.h"
#include "tests/runtime/op/finite_difference.h"
#include "tests/runtime/op/random_data.h"

namespace hone {
namespace {

using reference::Doubles;
using reference::to_double;
using testing_op::cpu_isas;
using testing_op::Environment;
using testing_op::first_difference;
using testing_op::random_floats;

TEST(SiluMul, AgreesWithTheReference) {
  for (const size_t n : {1, 15, 16, 100, 4099}) {
    const std::vector<float> gate = random_floats(n, 1, 8.0F);
    const std::vector<float> up = random_floats(n, 2);
    std::vector<float> y(n);
    silu_mul(gate, up, y);
    for (size_t i = 0; i < n; ++i) {
      const double expected = reference::silu(gate[i]) * static_cast<double>(up[i]);
      // exp errs by 1 ulp (2 roundings); sum, quotient and product round once each.
      ASSERT_NEAR(y[i], expected, reference::chain_tolerance(5, expected));
    }
  }
}

TEST(SiluMul, ExtremeGates) {
  const std::vector<float> gate = {-200.0F, 200.0F, 0.0F, -88.0F};
  const std::vector<float> up = {1.0F, 2.0F, 3.0F, 1.0F};
  std::vector<float> y(4);
  silu_mul(gate, up, y);
  EXPECT_EQ(y[0], 0.0F);
  EXPECT_EQ(y[1], 400.0F);
  EXPECT_EQ(y[2], 0.0F);
  EXPECT_NEAR(y[3], reference::silu(-88.0), 1e-40);
}

TEST(SiluMul, DoesNotDependOnThreadsIsaOrAliasing) {
  const std::vector<float> gate = random_floats(100003, 3, 4.0F);
  const std::vector<float> up = random_floats(gate.size(), 4);
  std::vector<float> expected(gate.size());
  {
    const Environment environment(CpuIsa::kAvx2, 1);
    silu_mul(gate, up, expected);
  }
  for (const CpuIsa isa : cpu_isas()) {
    const Environment environment(isa, 3);
    std::vector<float> y = gate;
    silu_mul(y, up, y);
    EXPECT_EQ(first_difference(y, expected), -1);
  }
}

TEST(SiluMul, BackwardAgreesWithFiniteDifferences) {
  constexpr size_t kSize = 50;
  const std::vector<float> gate = random_floats(kSize, 5, 3.0F);
  const std::vector<float> up = random_floats(kSize, 6);
  const std::vector<float> dy = random_floats(kSize, 7);
  const auto loss = [&](const Doubles& g, const Doubles& u) {
    double sum = 0;
    for (size_t i = 0; i < kSize; ++i) sum += reference::silu(g[i]) * u[i] * to_double(dy)[i];
    return sum;
  };
  const Doubles numeric_gate = testing_op::numeric_gradient(
      [&](const Doubles& g) { return loss(g, to_double(up)); }, to_double(gate), 1e-5
  );
  const Doubles numeric_up = testing_op::numeric_gradient(
      [&](const Doubles& u) { return loss(to_double(gate), u); }, to_double(up), 1e-5
  );
  for (const CpuIsa isa : cpu_isas()) {
    const Environment environment(isa, 1);
    std::vector<float> dgate = gate;  // aliases, as allowed
    std::vector<float> dup = up;
    silu_mul_backward(dgate, dup, dy, {dgate, dup});
    const double tolerance = reference::finite_difference_tolerance(1e-5, 50, 100, 10);
    for (size_t i = 0; i < kSize; ++i) {
      EXPECT_NEAR(dgate[i], numeric_gate[i], tolerance) << i;
      EXPECT_NEAR(dup[i], numeric_up[i], tolerance) << i;
    }
  }
}

TEST(SiluMul, RefusesSizesThatDiffer) {
  std::vector<float> a(4);
  std::vector<float> b(5);
  EXPECT_THROW(silu_mul(a, b, a), UsageError);
  EXPECT_THROW(silu_mul(a, a, b), UsageError);
  EXPECT_THROW(silu_mul_backward(a, a, b, {a, a}), UsageError);
}

}  // namespace
}  // namespace hone
