#include "runtime/model/config/dimensions.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/fixture/published.h"

namespace hone {
namespace {

using ::testing::HasSubstr;
using testing_fixture::published_checkpoint;
using testing_fixture::published_config;

ModelDimensions parse(const std::string& name) {
  return ModelDimensions::parse(published_config(name), name);
}

std::string error_of(const Json& config) {
  try {
    (void)ModelDimensions::parse(config, "c.json");
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

Json small() {
  return parse_json(
      R"({"model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "vocab_size": 100,
          "num_hidden_layers": 2, "num_attention_heads": 4})",
      "small"
  );
}

template <typename Predicate>
int64_t count(const ModelDimensions& d, const Predicate& predicate) {
  return std::ranges::count_if(d.layers, predicate);
}

TEST(ModelDimensions, MlaAndDenseLayersInFront) {
  const ModelDimensions d = parse("deepseek-ai/DeepSeek-V3");
  EXPECT_EQ(d.family, Family::kDeepSeek);
  EXPECT_EQ(d.layers.size(), 61U);
  EXPECT_EQ(count(d, [](const auto& l) { return l.moe; }), 58);
  EXPECT_EQ(d.layers[0].attention, AttentionKind::kLatent);
  EXPECT_EQ(d.latent.kv_rank, 512);
  EXPECT_EQ(d.moe.shared, 2048);
  EXPECT_TRUE(d.moe.correction_bias);
  EXPECT_EQ(d.mtp_layers, 1);
  EXPECT_EQ(d.stored, StoredWeights::kBlockFp8);
}

TEST(ModelDimensions, Windows) {
  const ModelDimensions oss = parse("openai/gpt-oss-20b");
  EXPECT_EQ(oss.layers[0].window, 128);
  EXPECT_EQ(oss.layers[1].window, 0);
  EXPECT_EQ(oss.stored, StoredWeights::kMxfp4Experts);
  const auto gemma =
      ModelDimensions::parse(published_checkpoint("gemma3--medgemma-27b-it").config, "gemma3");
  EXPECT_EQ(gemma.layers[4].window, 1024);
  EXPECT_EQ(gemma.layers[5].window, 0);
  EXPECT_EQ(count(gemma, [](const auto& l) { return l.window == 0; }), 10);
  EXPECT_TRUE(gemma.tied_embeddings);
  // Qwen names a window and switches it off.
  EXPECT_EQ(parse("Qwen/Qwen2.5-0.5B-Instruct").layers[0].window, 0);
  const ModelDimensions scout = parse("meta-llama/Llama-4-Scout-17B-16E-Instruct");
  EXPECT_EQ(scout.layers[0].window, 8192);
  EXPECT_EQ(scout.layers[3].window, 0);
  Json config = small();
  config["sliding_window"] = 16;
  EXPECT_EQ(ModelDimensions::parse(config, "c").layers[1].window, 16);
}

TEST(ModelDimensions, LinearAttention) {
  const ModelDimensions k3 = parse("moonshotai/Kimi-K3");
  EXPECT_EQ(count(k3, [](const auto& l) { return l.attention == AttentionKind::kKda; }), 69);
  EXPECT_EQ(k3.layers[0].attention, AttentionKind::kKda);
  EXPECT_EQ(k3.layers[3].attention, AttentionKind::kLatent);
  EXPECT_EQ(k3.layers[92].attention, AttentionKind::kLatent);
  EXPECT_EQ(k3.moe.hidden, 3584);
  EXPECT_EQ(k3.moe.shared, 2 * 3072);
  const ModelDimensions next = parse("qwen3-next/80B-A3B");
  EXPECT_EQ(next.layers[2].attention, AttentionKind::kDeltaNet);
  EXPECT_EQ(next.layers[3].attention, AttentionKind::kGrouped);
}

TEST(ModelDimensions, Indexers) {
  EXPECT_EQ(count(parse("zai-org/GLM-5"), [](const auto& l) { return l.indexer; }), 78);
  const ModelDimensions shared = parse("zai-org/GLM-5.2");
  EXPECT_TRUE(shared.layers[0].indexer);
  EXPECT_FALSE(shared.layers[3].indexer);
}

TEST(ModelDimensions, EveryOtherLayerRouted) {
  const ModelDimensions d = parse("meta-llama/Llama-4-Maverick-17B-128E-Instruct");
  EXPECT_FALSE(d.layers[0].moe);
  EXPECT_TRUE(d.layers[1].moe);
  EXPECT_EQ(d.intermediate, 16384);
  EXPECT_EQ(d.moe.intermediate, 8192);
}

TEST(ModelDimensions, TowersOfUnknownLayoutAreSaidToBeMissing) {
  const ModelDimensions k2 = parse("moonshotai/Kimi-K2.5");
  EXPECT_EQ(k2.vision.tower, VisionDimensions::Tower::kUnknown);
  EXPECT_THAT(k2.notes, ::testing::Contains(HasSubstr("vision tower is not counted")));
  const ModelDimensions qwen = parse("Qwen/Qwen3-VL-30B-A3B-Instruct");
  EXPECT_EQ(qwen.vision.tower, VisionDimensions::Tower::kQwen3);
  EXPECT_TRUE(qwen.notes.empty());
}

TEST(ModelDimensions, UnknownTypesAreCountedAsLlamaAndSaidSo) {
  Json config = small();
  config["model_type"] = "alien";
  const ModelDimensions d = ModelDimensions::parse(config, "c.json");
  EXPECT_EQ(d.family, Family::kUnknown);
  ASSERT_EQ(d.notes.size(), 1U);
  EXPECT_THAT(d.notes[0], HasSubstr("\"alien\" is not known"));
  EXPECT_THAT(d.notes[0], HasSubstr("qwen3_moe"));
}

TEST(ModelDimensions, UnknownArchitecturesOfKnownTypesAreSaidToBeSo) {
  Json config = small();
  config["architectures"] = {"LlamaForCausalLM"};
  EXPECT_TRUE(ModelDimensions::parse(config, "c.json").notes.empty());
  config["architectures"] = {"LlamaForCausalLMWithMore"};
  EXPECT_THAT(
      ModelDimensions::parse(config, "c.json").notes,
      ::testing::ElementsAre(HasSubstr("\"LlamaForCausalLMWithMore\" is not known"))
  );
  config["draft_vocab_size"] = 32000;
  EXPECT_THAT(error_of(config), HasSubstr("draft_vocab_size"));
}

TEST(ModelDimensions, PartsOfUnknownSizeAreRefused) {
  EXPECT_THAT(
      error_of(published_config("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16")),
      HasSubstr("\"hybrid_override_pattern\", a part whose sizes are not known")
  );
  EXPECT_THAT(
      error_of(published_config("nvidia/Llama-3_3-Nemotron-Super-49B-v1")),
      HasSubstr("block_configs")
  );
  EXPECT_THAT(
      error_of(published_config("deepseek-ai/DeepSeek-V4-Pro")), HasSubstr("compress_ratios")
  );
  EXPECT_THAT(error_of(published_config("google/gemma-4-26B-A4B")), HasSubstr("enable_moe_block"));
  EXPECT_THAT(
      error_of(published_checkpoint("flux1--schnell-t5-encoder-bnb").config),
      HasSubstr("not the config.json of a language model")
  );
}

TEST(ModelDimensions, BrokenConfigsNameTheField) {
  EXPECT_THAT(error_of(Json::array()), HasSubstr("c.json: expected a JSON object"));
  Json config = small();
  config.erase("vocab_size");
  EXPECT_THAT(error_of(config), HasSubstr("vocab_size"));
  config = small();
  config["num_key_value_heads"] = 3;
  EXPECT_THAT(error_of(config), HasSubstr("num_key_value_heads 3"));
  config = small();
  config["num_hidden_layers"] = 1'000'000;
  EXPECT_THAT(error_of(config), HasSubstr("num_hidden_layers\" is 1000000, expected 1 to"));
  config = small();
  config["hidden_size"] = int64_t{1} << 40;
  EXPECT_THAT(error_of(config), HasSubstr("hidden_size"));
  config = small();
  config["num_attention_heads"] = 7;
  EXPECT_THAT(error_of(config), HasSubstr("no head_dim"));
  config = small();
  config["layer_types"] = {"full_attention"};
  config["sliding_window"] = 4;
  EXPECT_THAT(error_of(config), HasSubstr("layer_types\" has 1 entries"));
  config = small();
  config["num_experts"] = 4;
  config["num_experts_per_tok"] = 5;
  EXPECT_THAT(error_of(config), HasSubstr("num_experts_per_tok\" is 5, expected 1 to 4"));
  config = small();
  config["model_type"] = "qwen3_vl";
  config["vision_config"] = {{"depth", 5000}};
  EXPECT_THAT(error_of(config), HasSubstr("depth\" is 5000, expected 0 to 4096"));
  config = small();
  config["head_dim"] = 1 << 23;
  EXPECT_THAT(error_of(config), HasSubstr("heads times head size\" is 33554432"));
  config = small();
  config["hidden_size"] = "64";
  EXPECT_THAT(error_of(config), HasSubstr("hidden_size"));
}

TEST(Family, HasANameAndTypes) {
  EXPECT_EQ(family_name(Family::kUnknown), "unknown");
  EXPECT_EQ(family_name(Family::kGptOss), "gpt-oss");
  EXPECT_EQ(family_of_model_type("kimi_k2"), Family::kDeepSeek);
  EXPECT_EQ(family_of_model_type("nothing"), std::nullopt);
  EXPECT_EQ(family_of_architecture("Qwen3MoeForCausalLM"), Family::kQwen3Moe);
}

}  // namespace
}  // namespace hone
