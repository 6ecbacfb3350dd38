#include "runtime/model/linear.h"

#include <vector>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/rng.h"
#include "tests/reference/tolerance.h"

namespace hone {
namespace {

constexpr int64_t kRows = 3;
constexpr int64_t kIn = 20;
constexpr int64_t kOut = 7;

ActivationQuant fp8() {
  ActivationQuant options;
  options.rule = ActivationRule::kFp8Group128;
  return options;
}

std::vector<float> random(size_t n, uint64_t seed) {
  Rng rng(seed);
  std::vector<float> values(n);
  for (float& value : values) value = static_cast<float>(rng.normal());
  return values;
}

Tensor matrix(const std::vector<float>& values) {
  Tensor tensor(DType::kF32, {kOut, kIn});
  std::copy(values.begin(), values.end(), tensor.as<float>().begin());
  return tensor;
}

Linear make(const std::vector<float>& w, std::vector<float> bias, ActivationQuant activation = {}) {
  return Linear(
      {.module = "m",
       .layer = 4,
       .weight = LinearWeight::dense(matrix(w)),
       .bias = std::move(bias),
       .activation = activation}
  );
}

void expect_product(
    const std::vector<float>& x,
    const std::vector<float>& w,
    const std::vector<float>& bias,
    const std::vector<float>& y
) {
  for (size_t r = 0; r < kRows; ++r) {
    for (size_t n = 0; n < kOut; ++n) {
      double sum = bias.empty() ? 0.0 : static_cast<double>(bias[n]);
      double norm = std::fabs(sum);
      for (size_t k = 0; k < kIn; ++k) {
        const double product = static_cast<double>(x[r * kIn + k]) * w[n * kIn + k];
        sum += product;
        norm += std::fabs(product);
      }
      // One more rounding for the bias.
      EXPECT_NEAR(y[r * kOut + n], sum, reference::dot_tolerance(kIn + 16, norm));
    }
  }
}

class Sink : public TapSink {
 public:
  [[nodiscard]] bool wants(const TapPoint& point) const override {
    return point.kind == TapKind::kLinearInput && point.module == "m";
  }
  void on(const TapPoint& point, const TensorView& rows) override {
    layer = point.layer;
    shape = rows.shape;
    const auto values = rows.as<float>();
    seen.assign(values.begin(), values.end());
  }
  int64_t layer = -1;
  Shape shape;
  std::vector<float> seen;
};

TEST(Linear, MultipliesAndAddsTheBias) {
  const auto x = random(kRows * kIn, 1);
  const auto w = random(kOut * kIn, 2);
  std::vector<float> y(kRows * kOut);
  make(w, {}).forward({}, x, y);
  expect_product(x, w, {}, y);
  const auto bias = random(kOut, 3);
  make(w, bias).forward({}, x, y);
  expect_product(x, w, bias, y);
  EXPECT_THROW(make(w, random(kOut + 1, 3)), InternalError);
}

TEST(Linear, TapsSeeTheInputBeforeQuantization) {
  const auto x = random(kRows * kIn, 1);
  const auto w = random(kOut * kIn, 2);
  const Linear plain = make(w, {});
  const Linear quantized = make(w, {}, fp8());
  std::vector<float> scratch;
  std::vector<float> y(kRows * kOut);
  Sink sink;
  quantized.forward({.taps = &sink, .scratch = &scratch}, x, y);
  EXPECT_EQ(sink.layer, 4);
  EXPECT_EQ(sink.shape, Shape({kRows, kIn}));
  EXPECT_EQ(sink.seen, x);
  // What is multiplied is the rounded input.
  std::vector<float> rounded(x.size());
  quantize_activations(fp8(), x, kIn, rounded);
  EXPECT_NE(rounded, x);
  std::vector<float> expected(y.size());
  plain.multiply({}, rounded, expected);
  EXPECT_EQ(y, expected);
}

TEST(Linear, OverrideReplacesTheWeight) {
  const auto x = random(kRows * kIn, 1);
  const auto other = random(kOut * kIn, 9);
  const Linear linear = make(random(kOut * kIn, 2), {});
  const WeightOverrides overrides = {{"m", matrix(other)}};
  const WeightOverrides unrelated = {{"n", matrix(other)}};
  std::vector<float> y(kRows * kOut);
  linear.forward({.overrides = &overrides}, x, y);
  expect_product(x, other, {}, y);
  linear.forward({.overrides = &unrelated}, x, y);
  expect_product(x, random(kOut * kIn, 2), {}, y);
}

TEST(Linear, DenseIsTheWeight) {
  const auto w = random(kOut * kIn, 2);
  const Tensor dense = make(w, {}).dense();
  EXPECT_EQ(dense.shape(), Shape({kOut, kIn}));
  EXPECT_TRUE(std::equal(w.begin(), w.end(), dense.as<float>().begin()));
}

}  // namespace
}  // namespace hone
