#include "runtime/model/config.h"

#include <cmath>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"

namespace hone {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Json llama() {
  return parse_json(
      R"({"architectures": ["LlamaForCausalLM"], "vocab_size": 100, "hidden_size": 64,
          "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4,
          "max_position_embeddings": 128, "rms_norm_eps": 1e-6, "torch_dtype": "float16"})",
      "test"
  );
}

std::string error_of(const Json& config) {
  try {
    (void)ModelConfig::parse(config, "config.json");
  } catch (const DataError& error) {
    return error.what();
  }
  return "no error";
}

TEST(ModelConfig, FillsDefaultsOfLlama) {
  const ModelConfig model = ModelConfig::parse(llama(), "config.json");
  EXPECT_EQ(model.architecture, Architecture::kLlama);
  EXPECT_EQ(model.vocab, 100);
  EXPECT_EQ(model.head_dim, 16);
  EXPECT_EQ(model.kv_heads, 4);
  EXPECT_EQ(model.rope.theta, 10000.0);
  EXPECT_EQ(model.rms_eps, 1e-6);
  EXPECT_EQ(model.torch_dtype, DType::kF16);
  EXPECT_FALSE(model.tied_embeddings);
  EXPECT_THAT(model.eos_ids, IsEmpty());
  EXPECT_EQ(model.bos_id, -1);
}

TEST(ModelConfig, ReadsEveryField) {
  Json config = llama();
  config["num_key_value_heads"] = 2;
  config["head_dim"] = 20;
  config["rope_theta"] = 500000.0;
  config["tie_word_embeddings"] = true;
  config["attention_bias"] = true;
  config["mlp_bias"] = true;
  config["bos_token_id"] = 1;
  config["eos_token_id"] = parse_json("[7, 8]", "test");
  const ModelConfig model = ModelConfig::parse(config, "config.json");
  EXPECT_EQ(model.kv_heads, 2);
  EXPECT_EQ(model.head_dim, 20);
  EXPECT_EQ(model.rope.theta, 500000.0);
  EXPECT_TRUE(model.tied_embeddings);
  EXPECT_TRUE(model.attention_bias);
  EXPECT_TRUE(model.mlp_bias);
  EXPECT_EQ(model.bos_id, 1);
  EXPECT_THAT(model.eos_ids, ElementsAre(7, 8));
}

TEST(ModelConfig, ReadsNamesOfTransformers5) {
  Json config = llama();
  config.erase("torch_dtype");
  config["dtype"] = "float32";
  config["rope_parameters"] =
      parse_json(R"({"rope_theta": 250.0, "rope_type": "default"})", "test");
  const ModelConfig model = ModelConfig::parse(config, "config.json");
  EXPECT_EQ(model.torch_dtype, DType::kF32);
  EXPECT_EQ(model.rope.theta, 250.0);
}

TEST(ModelConfig, GenerationConfigAddsEndIdsOnce) {
  Json config = llama();
  config["eos_token_id"] = 7;
  ModelConfig model = ModelConfig::parse(config, "config.json");
  model.add_generation_config(
      parse_json(R"({"eos_token_id": [9, 7], "bos_token_id": 3})", "test"), "generation_config.json"
  );
  EXPECT_THAT(model.eos_ids, ElementsAre(7, 9));
  EXPECT_EQ(model.bos_id, 3);
  EXPECT_THROW(
      model.add_generation_config(parse_json(R"({"eos_token_id": -1})", "test"), "g.json"),
      DataError
  );
}

TEST(ModelConfig, UnknownArchitectureListsTheKnown) {
  Json config = llama();
  config["architectures"] = parse_json(R"(["MambaForCausalLM"])", "test");
  EXPECT_THAT(error_of(config), HasSubstr("config.json"));
  EXPECT_THAT(error_of(config), HasSubstr("MambaForCausalLM"));
  EXPECT_THAT(error_of(config), HasSubstr("known are LlamaForCausalLM"));
  config.erase("architectures");
  EXPECT_THAT(error_of(config), HasSubstr("\"architectures\" is missing"));
}

TEST(ModelConfig, RefusesImpossibleSizes) {
  const auto with = [](const char* key, const Json& value) {
    Json config = llama();
    config[key] = value;
    return error_of(config);
  };
  EXPECT_THAT(with("hidden_size", 63), HasSubstr("no multiple of num_attention_heads 4"));
  EXPECT_THAT(with("num_key_value_heads", 3), HasSubstr("no multiple of num_key_value_heads 3"));
  EXPECT_THAT(with("head_dim", 7), HasSubstr("even"));
  EXPECT_THAT(with("vocab_size", 0), HasSubstr("\"vocab_size\" is 0"));
  EXPECT_THAT(with("vocab_size", int64_t{1} << 40), HasSubstr("\"vocab_size\""));
  EXPECT_THAT(with("num_hidden_layers", -1), HasSubstr("\"num_hidden_layers\" is -1"));
  EXPECT_THAT(with("rms_norm_eps", 0.0), HasSubstr("\"rms_norm_eps\""));
  EXPECT_THAT(with("hidden_act", "gelu"), HasSubstr("\"gelu\""));
  EXPECT_THAT(with("torch_dtype", "int8"), HasSubstr("\"int8\""));
  EXPECT_THAT(with("eos_token_id", "x"), HasSubstr("token ids"));
  Json config = llama();
  config.erase("vocab_size");
  EXPECT_THAT(error_of(config), HasSubstr("vocab_size"));
}

TEST(ModelConfig, UnknownRopeTypeIsNamed) {
  Json config = llama();
  config["rope_scaling"] = parse_json(R"({"rope_type": "yarn", "factor": 4.0})", "test");
  EXPECT_THAT(error_of(config), HasSubstr("\"yarn\""));
  config["rope_scaling"] = parse_json(R"({"type": "linear"})", "test");
  EXPECT_THAT(error_of(config), HasSubstr("factor"));
}

TEST(RopeConfig, PlainAndLinearFrequencies) {
  RopeConfig rope;
  rope.theta = 100.0;
  EXPECT_THAT(
      rope.inverse_frequencies(4), ElementsAre(DoubleNear(1.0, 1e-15), DoubleNear(0.1, 1e-15))
  );
  rope.scaling = RopeScaling::kLinear;
  rope.factor = 4.0;
  EXPECT_THAT(
      rope.inverse_frequencies(4), ElementsAre(DoubleNear(0.25, 1e-15), DoubleNear(0.025, 1e-15))
  );
}

// Llama 3.1: theta 500000, factor 8, low 1, high 4, original 8192, head_dim 128. Wavelengths below
// 8192 / 4 are untouched, above 8192 divided by 8; index 30 (wavelength 2954) lies between.
TEST(RopeConfig, Llama3Frequencies) {
  Json config = llama();
  config["rope_theta"] = 500000.0;
  config["rope_scaling"] = parse_json(
      R"({"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 8192})",
      "test"
  );
  const RopeConfig rope = ModelConfig::parse(config, "config.json").rope;
  const std::vector<double> f = rope.inverse_frequencies(128);
  const auto plain = [](int i) { return std::exp(-std::log(500000.0) * i / 64.0); };
  EXPECT_NEAR(f[0], 1.0, 1e-15);
  EXPECT_NEAR(f[20] / plain(20), 1.0, 1e-12);
  EXPECT_NEAR(f[63] / plain(63), 0.125, 1e-12);
  const double smooth = (8192.0 * plain(30) / (2.0 * M_PI) - 1.0) / 3.0;
  EXPECT_GT(smooth, 0.0);
  EXPECT_LT(smooth, 1.0);
  EXPECT_NEAR(f[30] / plain(30), smooth + (1.0 - smooth) / 8.0, 1e-12);
}

// Keys as DeepSeek-V3 and Qwen3.5 have them (there within text_config).
TEST(ConfigIdentity, CountsOfHeadsAndExperts) {
  const ConfigIdentity deepseek = ConfigIdentity::parse(
      {{"architectures", {"DeepseekV3ForCausalLM"}},
       {"num_hidden_layers", 61},
       {"num_attention_heads", 128},
       {"num_key_value_heads", 128},
       {"n_routed_experts", 256},
       {"num_experts_per_tok", 8},
       {"num_nextn_predict_layers", 1},
       {"tie_word_embeddings", false}},
      "test"
  );
  EXPECT_EQ(deepseek.layers, 61);
  EXPECT_EQ(deepseek.heads, 128);
  EXPECT_EQ(deepseek.experts, 256);
  EXPECT_EQ(deepseek.experts_per_token, 8);
  EXPECT_EQ(deepseek.mtp_layers, 1);
  EXPECT_TRUE(deepseek.tie_said);
  EXPECT_FALSE(deepseek.tied_embeddings);
  const ConfigIdentity nested = ConfigIdentity::parse(
      {{"text_config",
        {{"num_key_value_heads", 2}, {"num_experts", 256}, {"mtp_num_hidden_layers", 1}}}},
      "test"
  );
  EXPECT_EQ(nested.kv_heads, 2);
  EXPECT_EQ(nested.experts, 256);
  EXPECT_EQ(nested.mtp_layers, 1);
  EXPECT_FALSE(nested.tie_said);
}

// One number for each layer, or null: not said, and no error.
TEST(ConfigIdentity, ListsAreNotCounts) {
  const ConfigIdentity identity = ConfigIdentity::parse(
      {{"num_hidden_layers", 2}, {"num_key_value_heads", {8, 4}}, {"num_experts", nullptr}}, "test"
  );
  EXPECT_EQ(identity.layers, 2);
  EXPECT_EQ(identity.kv_heads, 0);
  EXPECT_EQ(identity.experts, 0);
}

}  // namespace
}  // namespace hone
