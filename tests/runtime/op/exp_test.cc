#include "runtime/op/exp.h"

#include <bit>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/runtime/op/random_data.h"

namespace hone {
namespace {

using testing_op::cpu_isas;
using testing_op::Environment;

// |y - exp(x)| in units of the last place of the float32 nearest to exp(x).
double ulp_error(float x, float y) {
  const double exact = std::exp(static_cast<double>(x));
  const int exponent = std::max(std::ilogb(exact), -126);
  return std::fabs(static_cast<double>(y) - exact) / std::ldexp(1.0, exponent - 23);
}

// Every 61st float32 between the two ends where the result is neither 0 nor infinite, of both
// signs; 61 is prime, so all low mantissa bits occur. (All of them: 0.875 ulp.)
TEST(Exp, IsWithinOneUlp) {
  for (const CpuIsa isa : cpu_isas()) {
    const Environment environment(isa, 1);
    double worst = 0;
    float worst_x = 0;
    std::vector<float> x;
    std::vector<float> y;
    const auto flush = [&] {
      y.resize(x.size());
      exp(x, y);
      for (size_t i = 0; i < x.size(); ++i) {
        const double error = ulp_error(x[i], y[i]);
        if (error > worst) {
          worst = error;
          worst_x = x[i];
        }
      }
      x.clear();
    };
    for (const float sign : {1.0F, -1.0F}) {
      const auto last = std::bit_cast<uint32_t>(sign > 0 ? 88.72F : 103.9F);
      // From 2^-30 on; below, exp(x) rounds to 1.
      for (uint32_t bits = std::bit_cast<uint32_t>(0x1p-30F); bits <= last; bits += 61) {
        x.push_back(sign * std::bit_cast<float>(bits));
        if (x.size() == 4096) flush();
      }
    }
    flush();
    EXPECT_LE(worst, 0.9) << "at " << worst_x;
  }
}

TEST(Exp, SpecialValues) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const std::vector<float> x = {
      0.0F, -0.0F, kInf, -kInf, NAN, 88.73F, 1e30F, -104.0F, -1e30F, 0x1p-60F};
  for (const CpuIsa isa : cpu_isas()) {
    const Environment environment(isa, 1);
    std::vector<float> y(x.size());
    exp(x, y);
    EXPECT_EQ(y[0], 1.0F);
    EXPECT_EQ(y[1], 1.0F);
    EXPECT_EQ(y[2], kInf);
    EXPECT_EQ(y[3], 0.0F);
    EXPECT_TRUE(std::isnan(y[4]));
    EXPECT_EQ(y[5], kInf);
    EXPECT_EQ(y[6], kInf);
    EXPECT_EQ(y[7], 0.0F);
    EXPECT_EQ(y[8], 0.0F);
    EXPECT_EQ(y[9], 1.0F);
  }
}

// A tail shorter than a vector gives the bits of the full vector, on each ISA.
TEST(Exp, TailsAndIsasAgree) {
  const std::vector<float> x = testing_op::random_floats(64, 1, 20.0F);
  std::vector<float> expected(64);
  {
    const Environment environment(CpuIsa::kAvx2, 1);
    exp(x, expected);
  }
  for (const CpuIsa isa : cpu_isas()) {
    const Environment environment(isa, 1);
    for (size_t n = 0; n <= 64; ++n) {
      std::vector<float> y(65, 7.0F);
      exp(std::span(x).first(n), std::span(y).first(n));
      EXPECT_EQ(
          testing_op::first_difference(std::span(y).first(n), std::span(expected).first(n)), -1
      );
      EXPECT_EQ(y[n], 7.0F) << "wrote past the end";
    }
  }
  std::vector<float> small(3);
  EXPECT_THROW(exp(x, small), UsageError);
}

}  // namespace
}  // namespace hone
