#include "quant/fit/fit.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/fixture/published.h"

namespace hone {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using testing_fixture::published_checkpoint;
using testing_fixture::published_config;

constexpr double kBillion = 1e9;
constexpr int64_t kGib = int64_t{1} << 30;

FitRequest request(const std::string& name) {
  FitRequest r;
  r.name = name;
  r.dimensions = ModelDimensions::parse(published_config(name), name);
  return r;
}

FitRequest request(const std::string& name, const char* gpus, int64_t context, int64_t batch) {
  FitRequest r = request(name);
  r.gpus = parse_gpus(gpus);
  r.context = context;
  r.batch = batch;
  return r;
}

double active(const std::string& name) {
  return static_cast<double>(fit(request(name)).active) / kBillion;
}

int64_t weight_bytes(const FitReport& report, std::string_view scheme) {
  for (const WeightSize& w : report.weights) {
    if (w.scheme == scheme) return w.bytes;
  }
  ADD_FAILURE() << scheme;
  return 0;
}

std::string error_of(const FitRequest& r) {
  try {
    (void)fit(r);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

// Active parameters as model cards state them. Those of GPT-OSS leave the input embedding out.
TEST(Fit, ActiveParametersOfModelCards) {
  EXPECT_NEAR(active("deepseek-ai/DeepSeek-V3"), 37.0, 0.6);
  EXPECT_NEAR(active("moonshotai/Kimi-K2-Instruct"), 32.0, 1.2);
  EXPECT_NEAR(active("Qwen/Qwen3-30B-A3B"), 3.3, 0.06);
  EXPECT_NEAR(active("Qwen/Qwen3-235B-A22B"), 22.0, 0.3);
  EXPECT_NEAR(active("mistralai/Mixtral-8x7B-v0.1"), 12.9, 0.05);
  EXPECT_NEAR(active("openai/gpt-oss-20b") - 201088 * 2880 / kBillion, 3.61, 0.01);
  EXPECT_NEAR(active("openai/gpt-oss-120b") - 201088 * 2880 / kBillion, 5.13, 0.01);
  EXPECT_NEAR(active("meta-llama/Llama-4-Maverick-17B-128E-Instruct"), 17.0, 0.5);
  EXPECT_NEAR(active("zai-org/GLM-5"), 40.0, 2.0);
}

TEST(Fit, KindsAddUp) {
  const FitReport report = fit(request("deepseek-ai/DeepSeek-V3"));
  int64_t total = 0;
  int64_t active = 0;
  for (const ParameterCount& p : report.parameters) {
    total += p.total;
    active += p.active;
    EXPECT_GT(p.total, 0) << p.kind;
  }
  EXPECT_EQ(total, report.total);
  EXPECT_EQ(active, report.active);
  EXPECT_EQ(report.total, 671'026'419'200);
  const auto experts =
      std::ranges::find(report.parameters, "routed experts", &ParameterCount::kind);
  ASSERT_NE(experts, report.parameters.end());
  EXPECT_EQ(experts->total, int64_t{58} * 256 * 3 * 7168 * 2048);
  EXPECT_EQ(experts->active, int64_t{58} * 8 * 3 * 7168 * 2048);
}

// The published files: 688.6 GB with the prediction layer for DeepSeek-V3 in block FP8.
TEST(Fit, WeightBytesOfPublishedCheckpoints) {
  FitRequest v3 = request("deepseek-ai/DeepSeek-V3");
  v3.mtp = true;
  const FitReport report = fit(v3);
  EXPECT_EQ(report.scheme, "fp8-block");
  EXPECT_NEAR(static_cast<double>(report.chosen.bytes) / kBillion, 688.6, 0.5);
  EXPECT_EQ(
      weight_bytes(report, "bf16"), 2 * (671'026'419'200 + report.mtp_total) + 2 * 59 * 256
  );  // correction biases in float32
  // Dense and small enough to do by hand: Qwen3-8B, tied to nothing.
  const FitReport qwen = fit(request("Qwen/Qwen3-8B"));
  EXPECT_EQ(weight_bytes(qwen, "bf16"), 2 * 8'190'735'360);
  const int64_t kept = 2 * (2 * int64_t{151936} * 4096 + 36 * (2 * 4096 + 2 * 128) + 4096);
  const int64_t linear = 36 * (4096 * (4096 + 1024 + 1024 + 4096) + 3 * int64_t{4096} * 12288);
  EXPECT_EQ(weight_bytes(qwen, "nvfp4"), kept + linear / 2 + linear / 16 + 36 * 7 * 8);
  EXPECT_EQ(weight_bytes(qwen, "fp8-block"), kept + linear + linear / 128 / 128 * 4);
}

TEST(Fit, SchemesThatConfigsSay) {
  const FitReport oss = fit(request("openai/gpt-oss-120b"));
  EXPECT_EQ(oss.scheme, "bf16");
  EXPECT_EQ(oss.expert_scheme, "mxfp4");
  EXPECT_EQ(oss.chosen.scheme, "bf16 with mxfp4 experts");
  // The published files take 65.2 GB.
  EXPECT_NEAR(static_cast<double>(oss.chosen.bytes) / kBillion, 65.2, 0.2);
  FitRequest nvfp4;
  Json config = published_config("nvidia/Qwen3-235B-A22B-NVFP4");
  config["quantization_config"] = {{"quant_method", "modelopt"}, {"quant_algo", "NVFP4"}};
  nvfp4.dimensions = ModelDimensions::parse(config, "config.json");
  EXPECT_EQ(fit(nvfp4).scheme, "nvfp4");
  const FitReport int4 = fit(request("moonshotai/Kimi-K2.5"));
  EXPECT_EQ(int4.scheme, "bf16");
  EXPECT_THAT(int4.notes, Contains(HasSubstr("stored as \"compressed-tensors\"")));
}

// 671 billion bytes of FP8 weights against 8 x 85.5 GB: loaded, but nothing can be served.
TEST(Fit, DeepSeekV3LeavesNoRoomOnEightH100) {
  const FitReport report = fit(request("deepseek-ai/DeepSeek-V3", "h100x8", 32768, 16));
  ASSERT_TRUE(report.verdict);
  const FitVerdict& v = *report.verdict;
  EXPECT_FALSE(v.fits);
  EXPECT_LT(v.room, 0);
  EXPECT_EQ(v.max_context, 0);
  EXPECT_EQ(v.max_batch, 0);
  EXPECT_THAT(v.reason, HasSubstr("no room to serve"));
  EXPECT_EQ(v.smallest_count, 16);
  EXPECT_EQ(v.tp, 8);
  EXPECT_EQ(v.memory, 85'520'809'984);
  // Even one token of one sequence.
  EXPECT_FALSE(fit(request("deepseek-ai/DeepSeek-V3", "h100x8", 1, 1)).verdict->fits);
}

TEST(Fit, DeepSeekV3FitsOnEightH200) {
  const FitReport report = fit(request("deepseek-ai/DeepSeek-V3", "h200x8", 32768, 16));
  ASSERT_TRUE(report.verdict);
  const FitVerdict& v = *report.verdict;
  EXPECT_TRUE(v.fits) << v.reason;
  // With tensor parallel alone every GPU keeps the latents of all sequences.
  EXPECT_EQ(v.sequences, 16);
  EXPECT_EQ(v.cache, int64_t{16} * 32768 * 70'272);
  EXPECT_GT(v.max_batch, 16);
  EXPECT_EQ(v.max_context, [&] {
    FitRequest r = request("deepseek-ai/DeepSeek-V3", "h200x8", v.max_context, 16);
    EXPECT_TRUE(fit(r).verdict->fits);
    r.context = v.max_context + 1;
    EXPECT_TRUE(v.model_limit || !fit(r).verdict->fits);
    return v.max_context;
  }());
  FitRequest more = request("deepseek-ai/DeepSeek-V3", "h200x8", 32768, v.max_batch + 1);
  EXPECT_FALSE(fit(more).verdict->fits);
  more.batch = v.max_batch;
  EXPECT_TRUE(fit(more).verdict->fits);
}

// 2.8 trillion parameters in NVFP4: about 1.58 TB with scales, on eight GPUs of 288 GB.
TEST(Fit, KimiK3InNvfp4OnB300) {
  FitRequest r = request("moonshotai/Kimi-K3", "b300x8", 131072, 16);
  r.scheme = "nvfp4";
  const FitReport report = fit(r);
  EXPECT_NEAR(static_cast<double>(report.total) / 1e12, 2.8, 0.03);
  EXPECT_NEAR(static_cast<double>(report.chosen.bytes) / 1e12, 1.58, 0.03);
  ASSERT_TRUE(report.verdict);
  EXPECT_TRUE(report.verdict->fits) << report.verdict->reason;
  EXPECT_EQ(report.verdict->smallest_count, 8);
  r.gpus = parse_gpus("b300x4");
  EXPECT_THAT(fit(r).verdict->reason, HasSubstr("the weights alone take"));
}

TEST(Fit, DataParallelAttentionDealsSequences) {
  FitRequest r = request("deepseek-ai/DeepSeek-V3", "h200x8", 32768, 16);
  r.tp = 1;
  r.ep = 8;
  const FitVerdict v = *fit(r).verdict;
  EXPECT_EQ(v.dp, 8);
  EXPECT_EQ(v.sequences, 2);
  EXPECT_EQ(v.cache, int64_t{2} * 32768 * 70'272);
  // Every GPU holds all of attention now.
  EXPECT_GT(
      v.weights, fit(request("deepseek-ai/DeepSeek-V3", "h200x8", 32768, 16)).verdict->weights
  );
}

TEST(Fit, ExpertsAreDealtWhole) {
  // 128 experts over 3 of 3 GPUs: 43 on the fullest. Tensor parallel falls back to 1.
  FitRequest r = request("Qwen/Qwen3-30B-A3B", "h100x3", 8192, 1);
  r.ep = 3;
  const FitVerdict dealt = *fit(r).verdict;
  EXPECT_EQ(dealt.tp, 1);
  EXPECT_EQ(dealt.dp, 3);
  r.ep = 1;
  const FitVerdict split = *fit(r).verdict;
  const int64_t expert = int64_t{48} * 3 * 2048 * 768 * 2;
  EXPECT_NEAR(
      static_cast<double>(dealt.weights - split.weights),
      static_cast<double>(expert) * (43 - 128.0 / 3),
      static_cast<double>(expert) * 0.01
  );
}

TEST(Fit, MixedSchemesAndCacheFormats) {
  FitRequest r = request("deepseek-ai/DeepSeek-V3", "h200x4", 32768, 16);
  r.expert_scheme = "nvfp4";
  r.fp8_cache = true;
  const FitReport report = fit(r);
  EXPECT_EQ(report.chosen.scheme, "fp8-block with nvfp4 experts");
  EXPECT_TRUE(report.verdict->fits) << report.verdict->reason;
  EXPECT_EQ(report.verdict->cache, int64_t{16} * 32768 * 35'136);
  EXPECT_FALSE(fit(request("deepseek-ai/DeepSeek-V3", "h200x4", 32768, 16)).verdict->fits);
}

TEST(Fit, ReservesAreTheCallers) {
  FitRequest r = request("meta-llama/Meta-Llama-3.1-8B", "h100x1", 8192, 1);
  r.reserves = {0, 0, 0, 0, 8192};
  const FitVerdict bare = *fit(r).verdict;
  EXPECT_EQ(bare.room, bare.memory - bare.weights);
  EXPECT_EQ(bare.weights, 2 * 8'030'261'248);
  r.reserves = {kGib, 2 * kGib, 4 * kGib, 8 * kGib, 8192};
  // One GPU talks to nobody.
  EXPECT_EQ(fit(r).verdict->room, bare.room - 11 * kGib);
  r.gpus = parse_gpus("h100x2");
  EXPECT_EQ(fit(r).verdict->communication, 4 * kGib);
  r.reserves.activations = -1;
  const int64_t few = fit(r).verdict->activations;
  r.reserves.step_tokens *= 2;
  EXPECT_GT(fit(r).verdict->activations, few);
}

TEST(Fit, SmallModelsFillTheWholeContext) {
  const FitVerdict v = *fit(request("Qwen/Qwen3-0.6B", "l4", 8192, 1)).verdict;
  EXPECT_TRUE(v.fits);
  EXPECT_TRUE(v.model_limit);
  EXPECT_EQ(v.max_context, 40960);
  EXPECT_EQ(v.smallest_count, 1);
}

TEST(Fit, WindowsMakeRoom) {
  FitRequest r;
  r.dimensions =
      ModelDimensions::parse(published_checkpoint("gemma3--medgemma-27b-it").config, "gemma3");
  r.gpus = parse_gpus("h100");
  r.context = 65536;
  r.batch = 2;
  EXPECT_TRUE(fit(r).verdict->fits);
  r.ignore_windows = true;
  EXPECT_FALSE(fit(r).verdict->fits);
}

TEST(Fit, RefusesWhatCannotBe) {
  FitRequest r = request("Qwen/Qwen3-8B", "h100x4", 8192, 1);
  r.scheme = "int3";
  EXPECT_THAT(error_of(r), HasSubstr("unknown scheme \"int3\""));
  r = request("Qwen/Qwen3-8B", "h100x4", 8192, 0);
  EXPECT_THAT(error_of(r), HasSubstr("batch is 0"));
  r = request("Qwen/Qwen3-8B", "h100x4", 1'000'000, 1);
  EXPECT_THAT(error_of(r), HasSubstr("more than the 40960"));
  r = request("Qwen/Qwen3-8B", "h100x4", 8192, 1);
  r.tp = 3;
  EXPECT_THAT(error_of(r), HasSubstr("3 does not divide 4 GPUs"));
  r = request("Qwen/Qwen3-8B", "h100x6", 8192, 1);
  r.tp = 6;
  EXPECT_THAT(error_of(r), HasSubstr("6 does not divide the model's 32 attention heads"));
  r.tp = 2;
  r.ep = 2;
  EXPECT_THAT(error_of(r), HasSubstr("no experts"));
  r = request("Qwen/Qwen3-8B", "h100", 8192, 1);
  r.reserves.workspace = -5;
  EXPECT_THAT(error_of(r), HasSubstr("negative"));
}

// The largest numbers that are let in.
TEST(Fit, NothingOverflows) {
  FitRequest r;
  const Json config = parse_json(
      R"({"model_type": "llama", "hidden_size": 1, "intermediate_size": 1,
          "num_hidden_layers": 4096, "num_attention_heads": 16777216, "head_dim": 1,
          "vocab_size": 16777216})",
      "config.json"
  );
  r.dimensions = ModelDimensions::parse(config, "config.json");
  r.gpus = parse_gpus("t4");
  r.context = int64_t{1} << 24;
  r.batch = int64_t{1} << 20;
  r.reserves.step_tokens = int64_t{1} << 24;
  const FitVerdict v = *fit(r).verdict;
  EXPECT_FALSE(v.fits);
  EXPECT_EQ(v.cache, std::numeric_limits<int64_t>::max());
  EXPECT_EQ(v.max_context, 0);
  r.context += 1;
  EXPECT_THAT(error_of(r), HasSubstr("expected 1 to 16777216"));
}

TEST(Fit, NoGpusNoVerdict) {
  const FitReport report = fit(request("Qwen/Qwen3-8B"));
  EXPECT_FALSE(report.verdict);
  EXPECT_EQ(report.weights.size(), weight_formats().size());
}

}  // namespace
}  // namespace hone
