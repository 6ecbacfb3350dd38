#include "calibrate/sensitivity.h"

#include <cmath>

#include <gtest/gtest.h>

#include "calibrate/forward.h"
#include "core/base/threads.h"
#include "core/format/nvfp4.h"
#include "runtime/engine/loaded_model.h"

namespace hone {
namespace {

LoadedModel& demo() {
  static LoadedModel model = load_model(std::string(HONE_SOURCE_DIR) + "/recipes/demo");
  return model;
}

const std::vector<std::vector<int32_t>>& sequences() {
  static const std::vector<std::vector<int32_t>> ids = {
      demo().encode_text("There were 18 people on a tram."),
      demo().encode_text("Walter has 11 hens and each hen lays 2 eggs a day."),
      demo().encode_text("What is the weather in Paris?")};
  return ids;
}

// Mean KL by the textbook formula, in double.
double naive_kl(std::span<const float> p, std::span<const float> q, size_t vocab) {
  double total = 0;
  for (size_t row = 0; row < p.size() / vocab; ++row) {
    double zp = 0;
    double zq = 0;
    for (size_t i = 0; i < vocab; ++i) {
      zp += std::exp(static_cast<double>(p[row * vocab + i]));
      zq += std::exp(static_cast<double>(q[row * vocab + i]));
    }
    for (size_t i = 0; i < vocab; ++i) {
      const double lp = static_cast<double>(p[row * vocab + i]) - std::log(zp);
      const double lq = static_cast<double>(q[row * vocab + i]) - std::log(zq);
      total += std::exp(lp) * (lp - lq);
    }
  }
  return total / static_cast<double>(p.size() / vocab);
}

CalibrationStats measure(SensitivityOptions options) {
  CalibrationStats stats;
  measure_sensitivity(*demo().model, sequences(), options, stats);
  return stats;
}

TEST(Sensitivity, EqualsQuantizingTheGroupByHand) {
  const CalibrationStats stats = measure({});
  const std::string group = "model.layers.2.self_attn.qkv";
  ASSERT_TRUE(stats.modules.contains(group));

  Model& model = *demo().model;
  WeightOverrides weights;
  float amax = 0;
  for (const char* name : {"q_proj", "k_proj", "v_proj"}) {
    const std::string module = "model.layers.2.self_attn." + std::string(name);
    Tensor weight = model.dense_weight(module);
    for (const float w : weight.as<float>()) amax = std::max(amax, std::fabs(w));
    weights.emplace(module, std::move(weight));
  }
  const float g = nvfp4_global_scale(amax);
  for (auto& [module, weight] : weights) {
    const QuantizedTensor q = quantize_nvfp4(weight.view(), g, module, ThreadPool::global());
    Tensor decoded(DType::kF32, weight.shape());
    dequantize_rows(q, 0, q.rows, decoded.as<float>().data());
    weight = decoded;
  }
  ForwardOutput p;
  ForwardOutput q;
  forward_sequences(model, sequences(), LogitRows::kAll, p);
  forward_sequences(model, sequences(), LogitRows::kAll, q, nullptr, &weights);
  const double expected = naive_kl(
      p.logits.as<float>(), q.logits.as<float>(), static_cast<size_t>(model.config().vocab)
  );
  const Sensitivity& found = stats.modules.at(group).sensitivity.at("nvfp4");
  EXPECT_GT(expected, 1e-6);
  EXPECT_NEAR(found.kl_mean, expected, 1e-9 + 1e-6 * expected);
  EXPECT_GT(found.kl_stderr, 0);
}

TEST(Sensitivity, CoversEveryGroupOnce) {
  const CalibrationStats stats = measure({});
  // Six layers of qkv, o, gate_up, down; the tied head is no linear weight of its own.
  EXPECT_EQ(stats.modules.size(), 24U);
  EXPECT_FALSE(stats.modules.contains("model.layers.0.self_attn.q_proj"));
  EXPECT_FALSE(stats.modules.contains("lm_head"));
}

TEST(Sensitivity, EveryFormatIsTriedAndEightBitsHurtLess) {
  SensitivityOptions options;
  options.formats.assign(all_formats().begin(), all_formats().end());
  const CalibrationStats stats = measure(options);
  std::map<std::string, double> total;
  for (const auto& [name, module] : stats.modules) {
    for (const Format format : all_formats()) {
      const std::string key(format_name(format));
      ASSERT_TRUE(module.sensitivity.contains(key)) << name << " " << key;
      total[key] += module.sensitivity.at(key).kl_mean;
    }
  }
  for (const char* eight : {"fp8-block", "fp8-channel", "fp8-tensor", "mxfp8"}) {
    EXPECT_GT(total.at(eight), 0) << eight;
    EXPECT_LT(total.at(eight), total.at("nvfp4") / 5) << eight;
  }
  // Power-of-two scales for 32 against E4M3 scales for 16.
  EXPECT_LT(total.at("nvfp4"), total.at("mxfp4"));
}

TEST(Sensitivity, MemoryLimitDoesNotChangeTheResult) {
  SensitivityOptions small;
  small.logit_bytes = 1;  // one sequence at a time
  const CalibrationStats a = measure({});
  const CalibrationStats b = measure(small);
  for (const auto& [name, module] : a.modules) {
    EXPECT_EQ(
        module.sensitivity.at("nvfp4").kl_mean, b.modules.at(name).sensitivity.at("nvfp4").kl_mean
    ) << name;
  }
}

}  // namespace
}  // namespace hone
