#include "recipes/step/preset.h"

#include <filesystem>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/file.h"

namespace hone {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const fs::path kLibrary = fs::path(HONE_SOURCE_DIR) / "recipes" / "library" / "presets";

// Tensors that the rules of a preset quantize, with nvfp4a16, in the order of `names`.
std::vector<std::string> quantized(
    const std::string& preset,
    const std::string& architecture,
    const std::vector<std::string>& names
) {
  const Preset loaded = Preset::load(kLibrary / (preset + ".yaml"));
  const ModelSchema schema(architecture, names);
  std::vector<std::string> result;
  for (const std::string& name : names) {
    const std::string module = name.substr(0, name.rfind('.'));
    const ModuleInfo* info = schema.find(module);
    const RuleSubject subject{
        schema.role(name), module, name, info == nullptr ? -1 : info->layer, 4, 1'000'000};
    if (decide(loaded.rules, find_scheme("nvfp4a16"), subject).scheme != nullptr)
      result.push_back(module);
  }
  return result;
}

std::string error_of(const std::string& text) {
  const fs::path path = fs::path(::testing::TempDir()) / "mine.yaml";
  write_text_file(path, text);
  try {
    (void)Preset::load(path);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(Preset, EveryOneOfTheLibraryLoads) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(kLibrary)) {
    const Preset preset = Preset::load(entry.path());
    names.insert(preset.name);
    EXPECT_FALSE(preset.rules.empty()) << preset.name;
    EXPECT_NE(find_scheme(preset.scheme), nullptr) << preset.name;
    for (const Rule& rule : preset.rules) EXPECT_EQ(rule.preset, preset.name);
  }
  EXPECT_EQ(
      names,
      (std::set<std::string>{
          "careful", "deepseek-v3", "dense-llm", "diffusion", "mla", "moe-experts"})
  );
}

const std::vector<std::string> kDeepSeek = {
    "model.embed_tokens.weight",
    "model.layers.0.self_attn.q_a_proj.weight",
    "model.layers.0.self_attn.q_b_proj.weight",
    "model.layers.0.self_attn.kv_a_proj_with_mqa.weight",
    "model.layers.0.self_attn.kv_b_proj.weight",
    "model.layers.0.self_attn.o_proj.weight",
    "model.layers.0.mlp.up_proj.weight",
    "model.layers.1.mlp.gate.weight",
    "model.layers.1.mlp.shared_experts.up_proj.weight",
    "model.layers.1.mlp.experts.7.up_proj.weight",
    "model.layers.3.eh_proj.weight",
    "lm_head.weight",
};

TEST(Preset, LatentAttention) {
  EXPECT_EQ(
      quantized("mla", "DeepseekV3ForCausalLM", kDeepSeek),
      (std::vector<std::string>{
          "model.layers.0.self_attn.o_proj",
          "model.layers.0.mlp.up_proj",
          "model.layers.1.mlp.shared_experts.up_proj",
          "model.layers.1.mlp.experts.7.up_proj"})
  );
  EXPECT_EQ(
      quantized("moe-experts", "DeepseekV3ForCausalLM", kDeepSeek),
      (std::vector<std::string>{"model.layers.1.mlp.experts.7.up_proj"})
  );
  // All but embedding, router, input projection of the prediction layer and head.
  EXPECT_EQ(quantized("deepseek-v3", "DeepseekV3ForCausalLM", kDeepSeek).size(), 8U);
  EXPECT_EQ(
      quantized("careful", "DeepseekV3ForCausalLM", kDeepSeek),
      (std::vector<std::string>{
          "model.layers.1.mlp.shared_experts.up_proj", "model.layers.1.mlp.experts.7.up_proj"})
  );
}

TEST(Preset, DenseModelWithATower) {
  EXPECT_EQ(
      quantized(
          "dense-llm",
          "Gemma3ForConditionalGeneration",
          {"language_model.model.layers.0.self_attn.q_proj.weight",
           "language_model.model.layers.0.mlp.down_proj.weight",
           "language_model.model.layers.0.input_layernorm.weight",
           "vision_tower.vision_model.encoder.layers.0.self_attn.q_proj.weight",
           "multi_modal_projector.mm_soft_emb_norm.weight"}
      ),
      (std::vector<std::string>{
          "language_model.model.layers.0.self_attn.q_proj",
          "language_model.model.layers.0.mlp.down_proj"})
  );
}

TEST(Preset, DiffusionWithoutModulationEmbeddersAndOutput) {
  EXPECT_EQ(
      quantized(
          "diffusion",
          "FluxTransformer2DModel",
          {"x_embedder.weight",
           "context_embedder.weight",
           "time_text_embed.timestep_embedder.linear_1.weight",
           "transformer_blocks.0.norm1.linear.weight",
           "transformer_blocks.0.attn.to_q.weight",
           "transformer_blocks.0.attn.add_q_proj.weight",
           "transformer_blocks.0.ff.net.2.weight",
           "transformer_blocks.0.time_embed.ff.net.2.weight",
           "single_transformer_blocks.0.norm.linear.weight",
           "single_transformer_blocks.0.proj_mlp.weight",
           "single_transformer_blocks.0.proj_out.weight",
           "norm_out.linear.weight",
           "proj_out.weight"}
      ),
      (std::vector<std::string>{
          "transformer_blocks.0.attn.to_q",
          "transformer_blocks.0.attn.add_q_proj",
          "transformer_blocks.0.ff.net.2",
          "single_transformer_blocks.0.proj_mlp",
          "single_transformer_blocks.0.proj_out"})
  );
}

TEST(Preset, ErrorsNameTheLine) {
  const std::string head = "name: mine\nabout: x\n";
  EXPECT_EQ(error_of(head + "rules: [\"*=keep\"]\n"), "");
  EXPECT_THAT(error_of("- a\n"), HasSubstr("mine.yaml:1: a preset must be a mapping"));
  EXPECT_THAT(error_of(head + "rule: []\n"), HasSubstr("mine.yaml:3: unknown key \"rule\""));
  EXPECT_THAT(error_of(head), HasSubstr("\"rules\" must be a list"));
  EXPECT_THAT(error_of("about: x\nrules: []\n"), HasSubstr("\"name\" must be a string"));
  EXPECT_THAT(error_of("name: yours\nabout: x\nrules: []\n"), HasSubstr("expected the file's"));
  EXPECT_THAT(error_of(head + "scheme: int3\nrules: []\n"), HasSubstr(":3: unknown scheme"));
  EXPECT_THAT(
      error_of(head + "rules:\n  - \"*=keep\"\n  - \"attn.q\"\n"),
      HasSubstr("mine.yaml:5: rule \"attn.q\": expected pattern=format")
  );
  EXPECT_THAT(error_of(head + "rules:\n  - [a]\n"), HasSubstr("a rule must be a string"));
  EXPECT_THAT(error_of("name: [\n"), HasSubstr("mine.yaml:"));
}

}  // namespace
}  // namespace hone
