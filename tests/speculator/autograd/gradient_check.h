// Checks the backward of tape operations against central differences.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/rng.h"
#include "speculator/autograd/ops.h"
#include "speculator/autograd/tape.h"

namespace hone::testing_speculator {

struct Matrix {
  int64_t rows = 0;
  int64_t cols = 0;
  std::vector<float> values;
};

inline Matrix random_matrix(int64_t rows, int64_t cols, uint64_t seed, double scale = 1.0) {
  Rng rng(seed);
  Matrix m{rows, cols, std::vector<float>(static_cast<size_t>(rows * cols))};
  for (float& x : m.values) x = static_cast<float>(scale * rng.normal());
  return m;
}

using Build = std::function<Var(Tape&, const std::vector<Var>&)>;

// The loss is sum(c * y) with fixed random c; it is summed in double, so that the differences see
// the rounding of y alone. Every element of every input is moved by +-step.
inline void expect_gradients(
    std::vector<Matrix> inputs, const Build& build, double step = 0.01, double tolerance = 2e-3
) {
  Tape tape;
  std::vector<std::vector<float>> gradients;
  for (const Matrix& input : inputs) gradients.emplace_back(input.values.size(), 0.0F);
  const auto run = [&] {
    tape.reset();
    std::vector<Var> variables;
    for (size_t i = 0; i < inputs.size(); ++i)
      variables.push_back(tape.parameter(
          inputs[i].values.data(), gradients[i].data(), inputs[i].rows, inputs[i].cols
      ));
    return build(tape, variables);
  };
  const Var probe = run();
  const Matrix c = random_matrix(tape.rows(probe), tape.cols(probe), 77);
  const Var y = run();
  const Var loss = sum(tape, mul(tape, y, tape.constant(c.values.data(), c.rows, c.cols)));
  tape.backward(loss);
  const std::vector<std::vector<float>> analytic = gradients;

  tape.set_recording(false);
  const auto value = [&] {
    const Var out = run();
    double total = 0;
    for (size_t i = 0; i < c.values.size(); ++i)
      total += static_cast<double>(c.values[i]) * static_cast<double>(tape.value(out)[i]);
    return total;
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    double norm = 0;
    for (const float g : analytic[i]) norm = std::max(norm, std::fabs(static_cast<double>(g)));
    EXPECT_GT(norm, 0.0) << "input " << i << " has no gradient at all";
    for (size_t k = 0; k < inputs[i].values.size(); ++k) {
      const float kept = inputs[i].values[k];
      const float high = kept + static_cast<float>(step);
      const float low = kept - static_cast<float>(step);
      inputs[i].values[k] = high;
      const double above = value();
      inputs[i].values[k] = low;
      const double below = value();
      inputs[i].values[k] = kept;
      const double numeric =
          (above - below) / (static_cast<double>(high) - static_cast<double>(low));
      ASSERT_NEAR(analytic[i][k], numeric, tolerance * std::max(1.0, norm))
          << "input " << i << ", element " << k;
    }
  }
}

}  // namespace hone::testing_speculator
