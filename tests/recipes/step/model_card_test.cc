#include "recipes/step/model_card.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hone {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

PlanEntry entry(const char* module, Role role, const char* scheme, int64_t bytes) {
  PlanEntry e;
  e.tensor = std::string(module) + ".weight";
  e.module = module;
  e.role = role;
  e.dtype = DType::kBF16;
  e.shape = Shape{256, 256};
  e.scheme = find_scheme(scheme);
  e.selectable = e.scheme != nullptr;
  e.source_bytes = 2 * 256 * 256;
  e.output_bytes = bytes;
  return e;
}

Plan example(const char* scheme) {
  Plan plan;
  plan.dialect = scheme_by_name(scheme).dialect;
  plan.entries = {
      entry("model.embed_tokens", Role::kEmbedding, "", 131072),
      entry("model.layers.0.self_attn.o_proj", Role::kAttnO, scheme, 36868),
      entry("model.layers.0.mlp.down_proj", Role::kMlpDown, scheme, 36868)};
  return plan;
}

ModelCard card(const Plan& plan) {
  ModelCard c;
  c.base_model = "Qwen/Qwen3-8B";
  c.license = {"license: apache-2.0"};
  c.command = "hone quantize Qwen/Qwen3-8B -o OUT --scheme nvfp4";
  c.plan = &plan;
  return c;
}

// After a wanted change run once with HONE_UPDATE_GOLDENS=1 and read the difference.
void expect_golden(const std::string& name, const std::string& found) {
  const std::string path = std::string(HONE_SOURCE_DIR) + "/tests/golden/quant/" + name;
  if (std::getenv("HONE_UPDATE_GOLDENS") != nullptr) std::ofstream(path) << found;
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_EQ(found, text.str()) << path;
}

TEST(ModelCard, OfAnNvfp4Model) {
  Plan plan = example("nvfp4");
  plan.budget = PlanBudget{5.0, 4.9, 1.25e-3, true};
  plan.warnings.push_back({"sglang", false, "shapes are odd"});
  ModelCard c = card(plan);
  c.calibration_tokens = 16384;
  c.corpus_hash = "0123abcd";
  expect_golden("model_card_nvfp4.md", model_card_text(c));
}

TEST(ModelCard, OfABlockFp8Model) {
  const Plan plan = example("fp8-block");
  ModelCard c = card(plan);
  c.scale_kind = "ue8m0";
  const std::string text = model_card_text(c);
  EXPECT_THAT(text, HasSubstr("# Qwen3-8B-fp8-block\n"));
  EXPECT_THAT(text, HasSubstr("power-of-two scales"));
  EXPECT_THAT(text, HasSubstr("python -m sglang.launch_server --model-path FOLDER\n"));
  EXPECT_THAT(text, Not(HasSubstr("Calibrated on")));
  EXPECT_THAT(text, Not(HasSubstr("Blackwell")));
}

TEST(ModelCard, WeightOnlyNvfp4IsNotForOldSglang) {
  const Plan plan = example("nvfp4a16");
  const std::string text = model_card_text(card(plan));
  EXPECT_THAT(text, HasSubstr("vllm serve FOLDER"));
  EXPECT_THAT(text, Not(HasSubstr("sglang.launch_server")));
}

TEST(ModelCard, TheEvaluationSectionComesWithItsData) {
  const Plan plan = example("nvfp4");
  const std::string plain = model_card_text(card(plan));
  EXPECT_THAT(plain, Not(HasSubstr("Evaluation")));
  EXPECT_EQ(with_evaluation(plain, {}), plain);
  const std::vector<CardMetric> first = {{"gsm8k", "82.0 %", "81.3 %", "equivalent"}};
  const std::string once = with_evaluation(plain, first);
  EXPECT_THAT(
      once,
      HasSubstr("\n## Evaluation\n\n| metric | reference | this | verdict |\n|---|---:|---:|---|\n"
                "| gsm8k | 82.0 % | 81.3 % | equivalent |\n")
  );
  // A second evaluation replaces the first.
  const std::vector<CardMetric> second = {{"kl", "0", "0.01", "worse"}};
  const std::string twice = with_evaluation(once, second);
  EXPECT_THAT(twice, Not(HasSubstr("gsm8k")));
  EXPECT_EQ(twice, with_evaluation(plain, second));
  EXPECT_EQ(with_evaluation(twice, {}), plain);
}

TEST(ModelCard, BaseModelNames) {
  EXPECT_EQ(
      base_model_name("/c/hub/models--Qwen--Qwen3-8B/snapshots/0123456789abcdef"), "Qwen/Qwen3-8B"
  );
  EXPECT_EQ(base_model_name("/c/hub/models--gpt2/snapshots/0123"), "gpt2");
  EXPECT_EQ(base_model_name("/models/llama/"), "llama");
  EXPECT_EQ(base_model_name("/models/llama/."), "llama");
}

TEST(ModelCard, LicencesOfTheBase) {
  EXPECT_THAT(
      license_lines("---\nlanguage: en\nlicense: other\nlicense_name: qwen\n---\nlicense: no\n"),
      ::testing::ElementsAre("license: other", "license_name: qwen")
  );
  EXPECT_TRUE(license_lines("# A card\nlicense: mit\n").empty());
  EXPECT_TRUE(license_lines("").empty());
  EXPECT_TRUE(license_lines("---\n").empty());
}

}  // namespace
}  // namespace hone
