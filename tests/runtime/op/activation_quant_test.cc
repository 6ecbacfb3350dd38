#include "runtime/op/activation_quant.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/format/activation.h"
#include "tests/runtime/op/random_data.h"

namespace hone {
namespace {

using testing_op::Environment;
using testing_op::first_difference;
using testing_op::random_floats;

// By hand: amax 448 gives scale 1, so values round to E4M3 (3 mantissa bits) as they are.
TEST(ActivationQuant, Fp8RoundsUnderAScaleOfEachGroup) {
  std::vector<float> x(256, 0.0F);
  x[0] = 448.0F;
  x[1] = 17.0F;  // between 16 and 18: ties to even
  x[2] = 19.1F;
  x[128] = 44.8F;  // scale 0.1
  std::vector<float> y(256);
  quantize_activations({ActivationRule::kFp8Group128, std::nullopt, false}, x, 256, y);
  EXPECT_EQ(y[0], 448.0F);
  EXPECT_EQ(y[1], 16.0F);
  EXPECT_EQ(y[2], 20.0F);
  EXPECT_NEAR(y[128], 44.8F, 1e-5);
  // A power-of-two scale: 44.8 / 448 -> 1/8; 358.4 rounds to 352.
  quantize_activations({ActivationRule::kFp8Group128, std::nullopt, true}, x, 256, y);
  EXPECT_EQ(y[128], 44.0F);
}

TEST(ActivationQuant, Nvfp4RoundsUnderTheInputScale) {
  std::vector<float> x(16, 0.0F);
  x[0] = 6.0F;  // block scale 1 under g = 1
  x[1] = 2.6F;
  x[2] = -0.3F;
  std::vector<float> y(16);
  quantize_activations({ActivationRule::kNvfp4, GlobalScale{1.0F, false}, false}, x, 16, y);
  EXPECT_EQ(y[0], 6.0F);
  EXPECT_EQ(y[1], 3.0F);
  EXPECT_EQ(y[2], -0.5F);
  // The same scale stored as a divisor.
  std::vector<float> z(16);
  const ActivationQuant divisor{ActivationRule::kNvfp4, GlobalScale{4.0F, true}, false};
  const ActivationQuant multiplier{ActivationRule::kNvfp4, GlobalScale{0.25F, false}, false};
  quantize_activations(divisor, x, 16, y);
  quantize_activations(multiplier, x, 16, z);
  EXPECT_EQ(y, z);
}

TEST(ActivationQuant, DoesNotDependOnRowsOrThreads) {
  constexpr int64_t kDim = 416;
  const std::vector<float> x = random_floats(300 * kDim, 1);
  for (const ActivationRule rule :
       {ActivationRule::kFp8Group128,
        ActivationRule::kNvfp4,
        ActivationRule::kFp8Token,
        ActivationRule::kFp8Tensor,
        ActivationRule::kMxfp4,
        ActivationRule::kMxfp8}) {
    const ActivationQuant options{rule, GlobalScale{0.002F, false}, false};
    std::vector<float> expected(x.size());
    {
      const Environment environment(CpuIsa::kAvx2, 1);
      for (size_t r = 0; r < 300; ++r) {
        quantize_activations(
            options,
            std::span(x).subspan(r * kDim, kDim),
            kDim,
            std::span(expected).subspan(r * kDim, kDim)
        );
      }
    }
    const Environment environment(CpuIsa::kAvx2, 3);
    std::vector<float> y = x;
    quantize_activations(options, y, kDim, y);  // in place
    EXPECT_EQ(first_difference(y, expected), -1);
    EXPECT_NE(first_difference(y, x), -1);
  }
}

TEST(ActivationQuant, AppliesTheRulesOfTheFormats) {
  constexpr int64_t kDim = 96;
  const std::vector<float> x = random_floats(3 * kDim, 3);
  const auto applied = [&](ActivationRule rule) {
    std::vector<float> y(x.size());
    quantize_activations({rule, GlobalScale{0.01F, false}, false}, x, kDim, y);
    return y;
  };
  std::vector<float> token = x;
  round_fp8_token_activations(token.data(), 3, kDim);
  EXPECT_EQ(applied(ActivationRule::kFp8Token), token);
  std::vector<float> whole = x;
  round_fp8_tensor_activations(whole.data(), 3 * kDim, 0.01F);
  EXPECT_EQ(applied(ActivationRule::kFp8Tensor), whole);
  std::vector<float> mx = x;
  round_mx_activations(mx.data(), 3, kDim, Format::kMxfp4);
  EXPECT_EQ(applied(ActivationRule::kMxfp4), mx);
}

TEST(ActivationQuant, NoneCopies) {
  const std::vector<float> x = random_floats(10, 2);
  std::vector<float> y(10);
  quantize_activations({}, x, 5, y);
  EXPECT_EQ(y, x);
}

TEST(ActivationQuant, RefusesWhatDoesNotFit) {
  std::vector<float> x(48);
  const ActivationQuant nvfp4{ActivationRule::kNvfp4, GlobalScale{1.0F, false}, false};
  EXPECT_THROW(
      quantize_activations({ActivationRule::kNvfp4, std::nullopt, false}, x, 16, x), UsageError
  );
  EXPECT_THROW(
      quantize_activations({ActivationRule::kFp8Tensor, std::nullopt, false}, x, 16, x), UsageError
  );
  EXPECT_THROW(
      quantize_activations({ActivationRule::kMxfp8, std::nullopt, false}, x, 24, x), UsageError
  );
  EXPECT_THROW(quantize_activations(nvfp4, x, 24, x), UsageError);
  EXPECT_THROW(quantize_activations({}, x, 5, x), UsageError);
}

}  // namespace
}  // namespace hone
