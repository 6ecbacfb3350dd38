#include "runtime/model/schema/patterns.h"

#include <map>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/fixture/published.h"

namespace hone {
namespace {

using testing_fixture::published_checkpoints;
using testing_fixture::PublishedCheckpoint;

std::string architecture_of(const PublishedCheckpoint& checkpoint) {
  return checkpoint.config.at("architectures").at(0).get<std::string>();
}

TEST(Patterns, EveryTensorOfPublishedCheckpointsHasARole) {
  for (const PublishedCheckpoint& checkpoint : published_checkpoints()) {
    const ModelSchema schema(architecture_of(checkpoint), checkpoint.names);
    int unknown = 0;
    for (const std::string& name : checkpoint.names) {
      if (schema.role(name) != Role::kOther || ++unknown > 5) continue;
      ADD_FAILURE() << checkpoint.name << ": " << name;
    }
  }
}

TEST(Patterns, FusedGroupsOfPublishedCheckpointsAreComplete) {
  const std::map<std::string, size_t> sizes = {{"qkv", 3}, {"qkv_a", 2}, {"gate_up", 2}};
  for (const PublishedCheckpoint& checkpoint : published_checkpoints()) {
    const ModelSchema schema(architecture_of(checkpoint), checkpoint.names);
    std::map<std::string, std::set<Role>> groups;
    for (const ModuleInfo& module : schema.modules()) {
      if (!module.fused_group.empty()) groups[module.fused_group].insert(module.role);
      // Whatever has partners in an engine is in a group.
      const bool alone = module.fused_group.empty();
      for (const Role role :
           {Role::kAttnQ,
            Role::kAttnK,
            Role::kAttnV,
            Role::kAttnQA,
            Role::kMlpGate,
            Role::kMoeUp}) {
        EXPECT_FALSE(alone && module.role == role) << checkpoint.name << ": " << module.module;
      }
    }
    for (const auto& [group, roles] : groups) {
      const std::string kind = group.substr(group.rfind('.') + 1);
      EXPECT_EQ(roles.size(), sizes.at(kind)) << checkpoint.name << ": " << group;
    }
    // Each layer of a decoder has one, besides those with everything fused on disk.
    const std::string architecture = architecture_of(checkpoint);
    const bool fused = architecture == "Phi3ForCausalLM" || architecture == "MolmoForCausalLM";
    EXPECT_EQ(groups.empty(), fused) << checkpoint.name;
  }
}

TEST(Patterns, KnownArchitecturesAreNoFallback) {
  std::set<std::string> fallback;
  for (const PublishedCheckpoint& checkpoint : published_checkpoints()) {
    const ModelSchema schema(architecture_of(checkpoint), checkpoint.names);
    if (schema.is_fallback()) fallback.insert(checkpoint.name);
  }
  EXPECT_EQ(fallback, std::set<std::string>{"logics--Thinking-8B"});
  EXPECT_TRUE(ModelSchema("", {}).is_fallback());
  EXPECT_TRUE(ModelSchema("AlienForCausalLM", {"model.layers.0.mlp.up_proj.weight"}).is_fallback());
}

TEST(Patterns, LayersOfAllKinds) {
  const auto layer = [](std::string_view name) { return layer_of(split_name(name)); };
  EXPECT_EQ(layer("model.layers.7.mlp.up_proj.weight"), 7);
  EXPECT_EQ(layer("transformer.h.3.attn.c_attn.weight"), 3);
  EXPECT_EQ(layer("single_transformer_blocks.37.proj_mlp.weight"), 37);
  EXPECT_EQ(layer("double_blocks.18.img_attn.qkv.weight"), 18);
  EXPECT_EQ(layer("mtp.layers.0.mlp.up_proj.weight"), -1);
  EXPECT_EQ(layer("lm_head.weight"), -1);
  EXPECT_EQ(layer("model.layers.x.up"), -1);
  EXPECT_EQ(layer("model.layers"), -1);
  EXPECT_EQ(layer(""), -1);
}

// Names of Kimi-K3, as its loaders list them.
TEST(Patterns, KimiDeltaAttention) {
  const ModelSchema schema("KimiK3ForConditionalGeneration", {});
  const std::string p = "language_model.model.layers.1.";
  const std::map<std::string, Role> roles = {
      {"self_attn.q_proj.weight", Role::kAttnQ},
      {"self_attn.q_conv1d.weight", Role::kLinearAttn},
      {"self_attn.A_log", Role::kLinearAttn},
      {"self_attn.dt_bias", Role::kLinearAttn},
      {"self_attn.f_a_proj.weight", Role::kLinearAttn},
      {"self_attn.b_proj.weight", Role::kLinearAttn},
      {"self_attn.g_proj.weight", Role::kAttnGate},
      {"self_attn.o_norm.weight", Role::kNorm},
      {"self_attention_res_norm.weight", Role::kNorm},
      {"self_attention_res_proj.weight", Role::kResidual},
      {"block_sparse_moe.gate.weight", Role::kMoeRouter},
      {"block_sparse_moe.gate.e_score_correction_bias", Role::kMoeRouter},
      {"block_sparse_moe.routed_expert_down_proj.weight", Role::kMoeLatent},
      {"block_sparse_moe.routed_expert_norm.weight", Role::kNorm},
      {"block_sparse_moe.experts.895.w2.weight_packed", Role::kMoeDown},
      {"block_sparse_moe.shared_experts.up_proj.weight", Role::kMlpUp},
  };
  for (const auto& [name, role] : roles) {
    EXPECT_EQ(role_name(schema.role(p + name)), role_name(role)) << name;
  }
}

TEST(Patterns, OtherFamilies) {
  const auto role = [](const char* architecture, const char* name) {
    return role_name(ModelSchema(architecture, {}).role(name));
  };
  EXPECT_EQ(role("GptOssForCausalLM", "model.layers.0.self_attn.sinks"), "attn.sinks");
  EXPECT_EQ(role("GptOssForCausalLM", "model.layers.0.self_attn.o_proj.bias"), "attn.o");
  EXPECT_EQ(role("DeepseekV3ForCausalLM", "model.layers.61.eh_proj.weight"), "mtp");
  EXPECT_EQ(role("Qwen3NextForCausalLM", "mtp.fc.weight"), "mtp");
  EXPECT_EQ(role("Qwen3NextForCausalLM", "mtp.pre_fc_norm_hidden.weight"), "norm");
  EXPECT_EQ(
      role(
          "Llama4ForConditionalGeneration",
          "language_model.model.layers.1.feed_forward.experts.down_proj"
      ),
      "moe.down"
  );
  EXPECT_EQ(
      role(
          "Llama4ForConditionalGeneration",
          "language_model.model.layers.1.feed_forward.shared_expert.up_proj.weight"
      ),
      "mlp.up"
  );
  EXPECT_EQ(role("NemotronHForCausalLM", "backbone.layers.0.mixer.in_proj.weight"), "linear_attn");
  EXPECT_EQ(role("NemotronHForCausalLM", "backbone.layers.5.mixer.q_proj.weight"), "attn.q");
  EXPECT_EQ(
      role("NemotronHForCausalLM", "backbone.layers.1.mixer.experts.7.up_proj.weight"), "moe.up"
  );
  EXPECT_EQ(
      role("Gemma3nForConditionalGeneration", "model.audio_tower.conformer.0.norm.weight"), "audio"
  );
}

// FLUX.1 as diffusers names it: two streams in the first blocks, one in the others.
TEST(Patterns, DiffusersTransformer) {
  const std::vector<std::string> names = {
      "x_embedder.weight",
      "context_embedder.weight",
      "time_text_embed.timestep_embedder.linear_1.weight",
      "transformer_blocks.0.norm1.linear.weight",
      "transformer_blocks.0.norm1_context.linear.weight",
      "transformer_blocks.0.attn.norm_q.weight",
      "transformer_blocks.0.attn.to_q.weight",
      "transformer_blocks.0.attn.to_k.weight",
      "transformer_blocks.0.attn.to_v.weight",
      "transformer_blocks.0.attn.add_q_proj.weight",
      "transformer_blocks.0.attn.add_k_proj.weight",
      "transformer_blocks.0.attn.add_v_proj.weight",
      "transformer_blocks.0.attn.to_out.0.weight",
      "transformer_blocks.0.attn.to_add_out.weight",
      "transformer_blocks.0.ff.net.0.proj.weight",
      "transformer_blocks.0.ff.net.2.weight",
      "transformer_blocks.0.ff_context.net.2.weight",
      "single_transformer_blocks.3.norm.linear.weight",
      "single_transformer_blocks.3.proj_mlp.weight",
      "single_transformer_blocks.3.proj_out.weight",
      "norm_out.linear.weight",
      "proj_out.weight",
  };
  const ModelSchema schema("FluxTransformer2DModel", names);
  EXPECT_FALSE(schema.is_fallback());
  std::string text;
  for (const ModuleInfo& m : schema.modules()) {
    text += fmt::format("{} {} {} {}\n", m.module, role_name(m.role), m.layer, m.fused_group);
  }
  EXPECT_EQ(
      text,
      "x_embedder condition -1 \n"
      "context_embedder condition -1 \n"
      "time_text_embed.timestep_embedder.linear_1 condition -1 \n"
      "transformer_blocks.0.norm1.linear modulation 0 \n"
      "transformer_blocks.0.norm1_context.linear modulation 0 \n"
      "transformer_blocks.0.attn.to_q attn.q 0 transformer_blocks.0.attn.qkv\n"
      "transformer_blocks.0.attn.to_k attn.k 0 transformer_blocks.0.attn.qkv\n"
      "transformer_blocks.0.attn.to_v attn.v 0 transformer_blocks.0.attn.qkv\n"
      "transformer_blocks.0.attn.add_q_proj attn.q 0 transformer_blocks.0.attn.add.qkv\n"
      "transformer_blocks.0.attn.add_k_proj attn.k 0 transformer_blocks.0.attn.add.qkv\n"
      "transformer_blocks.0.attn.add_v_proj attn.v 0 transformer_blocks.0.attn.add.qkv\n"
      "transformer_blocks.0.attn.to_out.0 attn.o 0 \n"
      "transformer_blocks.0.attn.to_add_out attn.o 0 \n"
      "transformer_blocks.0.ff.net.0.proj mlp.up 0 \n"
      "transformer_blocks.0.ff.net.2 mlp.down 0 \n"
      "transformer_blocks.0.ff_context.net.2 mlp.down 0 \n"
      "single_transformer_blocks.3.norm.linear modulation 3 \n"
      "single_transformer_blocks.3.proj_mlp mlp.up 3 \n"
      "single_transformer_blocks.3.proj_out mlp.down 3 \n"
      "norm_out.linear modulation -1 \n"
      "proj_out project_out -1 \n"
  );
}

// The same model as its authors name it.
TEST(Patterns, OriginalFlux) {
  const ModelSchema schema("", {"double_blocks.0.img_attn.qkv.weight"});
  const auto role = [&](const char* name) { return role_name(schema.role(name)); };
  EXPECT_EQ(role("double_blocks.0.img_attn.qkv.weight"), "attn.qkv");
  EXPECT_EQ(role("double_blocks.0.txt_attn.proj.weight"), "attn.o");
  EXPECT_EQ(role("double_blocks.0.img_mlp.0.weight"), "mlp.up");
  EXPECT_EQ(role("double_blocks.0.txt_mlp.2.weight"), "mlp.down");
  EXPECT_EQ(role("double_blocks.0.img_mod.lin.weight"), "modulation");
  EXPECT_EQ(role("single_blocks.1.linear1.weight"), "attn.qkv");
  EXPECT_EQ(role("single_blocks.1.linear2.weight"), "mlp.down");
  EXPECT_EQ(role("single_blocks.1.modulation.lin.weight"), "modulation");
  EXPECT_EQ(role("single_blocks.1.norm.query_norm.scale"), "norm");
  EXPECT_EQ(role("final_layer.adaLN_modulation.1.weight"), "modulation");
  EXPECT_EQ(role("final_layer.linear.weight"), "project_out");
  EXPECT_EQ(role("guidance_in.in_layer.weight"), "condition");
  EXPECT_EQ(role("double_blocks.0.strange.weight"), "other");
}

}  // namespace
}  // namespace hone
