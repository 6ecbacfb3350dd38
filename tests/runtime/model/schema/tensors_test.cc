#include "runtime/model/schema/tensors.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/fixture/published.h"

namespace hone {
namespace {

using testing_fixture::published_checkpoint;
using testing_fixture::published_config;
using testing_fixture::published_configs;

std::vector<ExpectedTensor> tensors_of(const Json& config) {
  return expected_tensors(ModelDimensions::parse(config, "config.json"));
}

std::set<std::string> names_of(const std::vector<ExpectedTensor>& tensors) {
  std::set<std::string> names;
  for (const ExpectedTensor& t : tensors) {
    if (t.mtp) continue;
    for (std::string& name : t.names()) EXPECT_TRUE(names.insert(std::move(name)).second) << t.name;
  }
  return names;
}

int64_t numel(const std::vector<ExpectedTensor>& tensors, bool mtp = false) {
  int64_t sum = 0;
  for (const ExpectedTensor& t : tensors) {
    if (t.mtp == mtp) sum += t.numel();
  }
  return sum;
}

int64_t total(const std::string& name) {
  return numel(tensors_of(published_config(name)));
}

std::string difference(const std::set<std::string>& a, const std::set<std::string>& b) {
  std::vector<std::string> missing;
  std::ranges::set_difference(a, b, std::back_inserter(missing));
  std::string text = std::to_string(missing.size());
  for (size_t i = 0; i < std::min<size_t>(missing.size(), 8); ++i) text += "\n  " + missing[i];
  return text;
}

// The names of the index and, in bytes, the sizes of its tensors.
TEST(ExpectedTensors, EqualTheIndexesOfPublishedCheckpoints) {
  for (const char* name :
       {"falcon3--Triangulum-10B",
        "gemma2--2b-it",
        "gemma3--medgemma-27b-it",
        "mistral--Devstral-Small-2507",
        "mixtral--8x22B",
        "phi3--3B",
        "qwen2-vl--7B",
        "qwen2.5--14B",
        "qwen2.5-vl--7B",
        "qwen3--1.7B",
        "qwen3-vl--8B",
        "qwen3.5-moe--REAP-18B-A3B"}) {
    const auto checkpoint = published_checkpoint(name);
    const auto tensors = tensors_of(checkpoint.config);
    const std::set<std::string> found = names_of(tensors);
    const std::set<std::string> expected(checkpoint.names.begin(), checkpoint.names.end());
    EXPECT_EQ(found, expected) << name << "\nnot expected: " << difference(expected, found)
                               << "\nexpected, not there: " << difference(found, expected);
    int64_t bytes = 0;
    for (const ExpectedTensor& t : tensors) {
      if (!t.mtp) bytes += t.numel() * (t.f32 ? 4 : 2);
    }
    if (checkpoint.bytes > 0) {
      EXPECT_EQ(bytes, checkpoint.bytes) << name;
    }
  }
}

// Stored quantized: the weights' names, and the parameters that the index counts.
TEST(ExpectedTensors, EqualTheModulesOfQuantizedCheckpoints) {
  for (const char* name :
       {"llama3.1--8B-bnb-int8", "qwen2.5--14B-MLX-3bit", "qwen3--14B-MLX-4bit"}) {
    const auto checkpoint = published_checkpoint(name);
    std::set<std::string> expected;
    for (const std::string& tensor : checkpoint.names) {
      if (tensor.ends_with(".weight") || tensor.ends_with(".bias")) expected.insert(tensor);
    }
    const std::set<std::string> found = names_of(tensors_of(checkpoint.config));
    EXPECT_EQ(found, expected) << name << "\nnot expected: " << difference(expected, found)
                               << "\nexpected, not there: " << difference(found, expected);
  }
}

// DeepSeek-OCR-2: the language model of a checkpoint whose tower is not known.
TEST(ExpectedTensors, AreThereBesideAnUnknownTower) {
  const auto checkpoint = published_checkpoint("deepseek-ocr-2");
  std::set<std::string> expected;
  for (const std::string& name : checkpoint.names) {
    const bool language = name.starts_with("model.layers.") || name.starts_with("model.norm.") ||
                          name.starts_with("model.embed_tokens.") || name.starts_with("lm_head.");
    if (language) expected.insert(name);
  }
  const std::set<std::string> found = names_of(tensors_of(checkpoint.config));
  EXPECT_EQ(found, expected) << "not expected: " << difference(expected, found)
                             << "\nexpected, not there: " << difference(found, expected);
}

TEST(ExpectedTensors, CountTheParametersThatIndexesState) {
  const auto devstral = published_checkpoint("mistral--Devstral-Small-2507");
  EXPECT_EQ(numel(tensors_of(devstral.config)), devstral.parameters);
  // MLX counts what lies in modules: A_log and dt_bias of 48 layers with 48 heads do not.
  const auto qwen = published_checkpoint("qwen3.5--27B-MLX-mixed-4-8bit");
  EXPECT_EQ(numel(tensors_of(qwen.config)), qwen.parameters + int64_t{2} * 48 * 48);
  // MLX stores the absorbed halves of kv_b, which are as large, and leaves the tower out.
  const auto mistral = published_checkpoint("mistral4--Small-4-MLX-4bit");
  EXPECT_EQ(numel(tensors_of(mistral.config)), mistral.parameters);
  // The index of this one counts the tied head once more.
  const auto gemma = published_checkpoint("gemma3--medgemma-27b-it");
  EXPECT_EQ(numel(tensors_of(gemma.config)) + int64_t{262208} * 5376, gemma.parameters);
}

// Exact totals that the hub shows for the BF16 checkpoints.
TEST(ExpectedTensors, CountWhatTheHubCounts) {
  EXPECT_EQ(total("meta-llama/Meta-Llama-3.1-8B"), 8'030'261'248);
  EXPECT_EQ(total("meta-llama/Meta-Llama-3.1-70B"), 70'553'706'496);
  EXPECT_EQ(total("meta-llama/Meta-Llama-3.1-405B"), 405'853'388'800);
  EXPECT_EQ(total("mistralai/Mixtral-8x7B-v0.1"), 46'702'792'704);
  EXPECT_EQ(total("Qwen/Qwen3-8B"), 8'190'735'360);
  EXPECT_EQ(total("Qwen/Qwen3-30B-A3B"), 30'532'122'624);
  EXPECT_EQ(total("Qwen/Qwen3-235B-A22B"), 235'093'634'560);
  EXPECT_EQ(total("Qwen/Qwen2.5-0.5B-Instruct"), 494'032'768);
  EXPECT_EQ(total("deepseek-ai/DeepSeek-V2-Lite"), 15'706'484'224);
}

// Totals as model cards and reports round them.
TEST(ExpectedTensors, AgreeWithModelCards) {
  const auto billions = [](const char* name) { return static_cast<double>(total(name)) / 1e9; };
  EXPECT_NEAR(billions("deepseek-ai/DeepSeek-V3"), 671.0, 0.5);
  EXPECT_NEAR(billions("moonshotai/Kimi-K2-Instruct"), 1030.0, 5.0);
  EXPECT_NEAR(billions("moonshotai/Kimi-K3"), 2800.0, 30.0);
  EXPECT_NEAR(billions("openai/gpt-oss-20b"), 20.91, 0.01);
  EXPECT_NEAR(billions("openai/gpt-oss-120b"), 116.83, 0.01);
  EXPECT_NEAR(billions("Qwen/Qwen3-Coder-480B-A35B-Instruct"), 480.0, 1.0);
  EXPECT_NEAR(billions("qwen3-next/80B-A3B"), 80.0, 1.0);
  EXPECT_NEAR(billions("zai-org/GLM-5"), 744.0, 5.0);
  EXPECT_NEAR(billions("MiniMaxAI/MiniMax-M2.5"), 230.0, 2.0);
  EXPECT_NEAR(billions("meta-llama/Llama-4-Scout-17B-16E-Instruct"), 109.0, 2.0);
  EXPECT_NEAR(billions("meta-llama/Llama-4-Maverick-17B-128E-Instruct"), 400.0, 3.0);
  EXPECT_NEAR(billions("granitemoe/granite-3.1-1b-a400m-instruct"), 1.33, 0.01);
  // DeepSeek-V3's prediction layer: 11.5 billion of its own, embedding and head again.
  const auto v3 = tensors_of(published_config("deepseek-ai/DeepSeek-V3"));
  EXPECT_NEAR(static_cast<double>(numel(v3, true)) / 1e9, 11.5 + 2 * 0.93, 0.2);
}

// microsoft/phi-4 and meta-llama/Llama-2-7b: what the hub counts.
TEST(ExpectedTensors, Phi4AndLlama2) {
  const Json phi = parse_json(
      R"({"architectures": ["Phi3ForCausalLM"], "model_type": "phi3", "hidden_size": 5120,
          "intermediate_size": 17920, "num_hidden_layers": 40, "num_attention_heads": 40,
          "num_key_value_heads": 10, "vocab_size": 100352, "tie_word_embeddings": false})",
      "config.json"
  );
  EXPECT_EQ(numel(tensors_of(phi)), 14'659'507'200);
  const Json llama = parse_json(
      R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096,
          "intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 32,
          "vocab_size": 32000})",
      "config.json"
  );
  EXPECT_EQ(numel(tensors_of(llama)), 6'738'415'616);
}

TEST(ExpectedTensors, ImpossibleSizesAreRefused) {
  const Json config = parse_json(
      R"({"model_type": "llama", "hidden_size": 16777216, "intermediate_size": 16777216,
          "num_hidden_layers": 4096, "num_attention_heads": 1, "vocab_size": 16777216})",
      "config.json"
  );
  try {
    (void)tensors_of(config);
    FAIL();
  } catch (const DataError& error) {
    EXPECT_NE(
        std::string(error.what()).find("model.embed_tokens.weight would have 2.81e+14"),
        std::string::npos
    ) << error.what();
  }
}

// google/gemma-3-270m, 268,098,176 parameters.
TEST(ExpectedTensors, SmallGemma) {
  const Json config = parse_json(
      R"({"architectures": ["Gemma3ForCausalLM"], "model_type": "gemma3_text", "hidden_size": 640,
          "intermediate_size": 2048, "num_hidden_layers": 18, "num_attention_heads": 4,
          "num_key_value_heads": 1, "head_dim": 256, "vocab_size": 262144, "sliding_window": 512,
          "max_position_embeddings": 32768})",
      "config.json"
  );
  EXPECT_EQ(numel(tensors_of(config)), 268'098'176);
}

// zai-org/GLM-4.5-Air (106 billion, 12 active) and its prediction layer's names.
TEST(ExpectedTensors, Glm45Air) {
  const Json config = parse_json(
      R"({"architectures": ["Glm4MoeForCausalLM"], "model_type": "glm4_moe", "hidden_size": 4096,
          "intermediate_size": 10944, "moe_intermediate_size": 1408, "num_hidden_layers": 46,
          "num_attention_heads": 96, "num_key_value_heads": 8, "head_dim": 128,
          "n_routed_experts": 128, "n_shared_experts": 1, "num_experts_per_tok": 8,
          "first_k_dense_replace": 1, "attention_bias": true, "use_qk_norm": false,
          "num_nextn_predict_layers": 1, "vocab_size": 151552, "tie_word_embeddings": false})",
      "config.json"
  );
  const auto tensors = tensors_of(config);
  EXPECT_NEAR(static_cast<double>(numel(tensors)) / 1e9, 106.8, 0.3);
  std::set<std::string> mtp;
  for (const ExpectedTensor& t : tensors) {
    if (t.mtp) mtp.insert(t.name);
  }
  for (const char* name :
       {"model.layers.46.eh_proj.weight",
        "model.layers.46.embed_tokens.weight",
        "model.layers.46.shared_head.head.weight",
        "model.layers.46.self_attn.q_proj.bias",
        "model.layers.46.mlp.gate.e_score_correction_bias",
        "model.layers.46.mlp.shared_experts.gate_proj.weight"})
    EXPECT_TRUE(mtp.contains(name)) << name;
}

// What is expected of a family has the role that its name says.
TEST(ExpectedTensors, RolesAreWhatNamesSay) {
  int families = 0;
  for (const auto& item : published_configs()) {
    ModelDimensions d;
    try {
      d = ModelDimensions::parse(item.config, item.name);
    } catch (const DataError&) {
      continue;
    }
    ++families;
    const auto tensors = expected_tensors(d);
    std::vector<std::string> names;
    for (const ExpectedTensor& t : tensors) names.push_back(t.names().front());
    const ModelSchema schema(d.architecture_name, names);
    EXPECT_FALSE(schema.is_fallback()) << item.name;
    for (size_t i = 0; i < tensors.size(); ++i) {
      EXPECT_EQ(role_name(schema.role(names[i])), role_name(tensors[i].role)) << names[i];
    }
  }
  EXPECT_GE(families, 24);
}

TEST(ExpectedTensor, FusedExpertsAreStoredWithTheExpertsInFront) {
  const auto tensors = tensors_of(published_config("openai/gpt-oss-20b"));
  const auto find = [&](const std::string& name) {
    return *std::ranges::find(tensors, name, &ExpectedTensor::name);
  };
  using Shape = std::vector<int64_t>;
  EXPECT_EQ(
      find("model.layers.0.mlp.experts.gate_up_proj").stored_shape(), (Shape{32, 2880, 5760})
  );
  EXPECT_EQ(find("model.layers.0.mlp.experts.down_proj_bias").stored_shape(), (Shape{32, 2880}));
  EXPECT_EQ(find("model.layers.0.self_attn.sinks").stored_shape(), (Shape{64}));
  const auto mixtral = tensors_of(published_config("mistralai/Mixtral-8x7B-v0.1"));
  const auto w1 = std::ranges::find(
      mixtral, "model.layers.0.block_sparse_moe.experts.{}.w1.weight", &ExpectedTensor::name
  );
  ASSERT_NE(w1, mixtral.end());
  EXPECT_EQ(w1->names().size(), 8U);
  EXPECT_EQ(w1->names().back(), "model.layers.0.block_sparse_moe.experts.7.w1.weight");
  EXPECT_EQ(w1->stored_shape(), (Shape{14336, 4096}));
}

}  // namespace
}  // namespace hone
