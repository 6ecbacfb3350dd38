#include "runtime/model/schema.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace hone {
namespace {

// One line a module: "<module> <role> <layer> <fused group or ->".
std::string print(const std::string& architecture, const std::vector<std::string>& names) {
  std::string text;
  const ModelSchema schema(architecture, names);
  for (const ModuleInfo& info : schema.modules()) {
    text += fmt::format(
        "{} {} {} {}\n",
        info.module,
        role_name(info.role),
        info.layer,
        info.fused_group.empty() ? "-" : info.fused_group
    );
  }
  return text;
}

TEST(ModelSchema, LlamaIsExact) {
  const std::vector<std::string> names = {
      "model.embed_tokens.weight",
      "model.layers.0.self_attn.q_proj.weight",
      "model.layers.0.self_attn.k_proj.weight",
      "model.layers.0.self_attn.v_proj.weight",
      "model.layers.0.self_attn.o_proj.weight",
      "model.layers.0.self_attn.q_proj.bias",
      "model.layers.0.self_attn.rotary_emb.inv_freq",
      "model.layers.0.mlp.gate_proj.weight",
      "model.layers.0.mlp.up_proj.weight",
      "model.layers.0.mlp.down_proj.weight",
      "model.layers.0.input_layernorm.weight",
      "model.layers.0.post_attention_layernorm.weight",
      "model.layers.11.mlp.down_proj.weight",
      "model.norm.weight",
      "lm_head.weight",
      "model.strange.w2.weight",
  };
  EXPECT_EQ(
      print("LlamaForCausalLM", names),
      "model.embed_tokens embedding -1 -\n"
      "model.layers.0.self_attn.q_proj attn.q 0 model.layers.0.self_attn.qkv\n"
      "model.layers.0.self_attn.k_proj attn.k 0 model.layers.0.self_attn.qkv\n"
      "model.layers.0.self_attn.v_proj attn.v 0 model.layers.0.self_attn.qkv\n"
      "model.layers.0.self_attn.o_proj attn.o 0 -\n"
      "model.layers.0.mlp.gate_proj mlp.gate 0 model.layers.0.mlp.gate_up\n"
      "model.layers.0.mlp.up_proj mlp.up 0 model.layers.0.mlp.gate_up\n"
      "model.layers.0.mlp.down_proj mlp.down 0 -\n"
      "model.layers.11.mlp.down_proj mlp.down 11 -\n"
      "lm_head lm_head -1 -\n"
      "model.strange.w2 other -1 -\n"
  );
}

TEST(ModelSchema, RolesOfEveryTensorOfQuantizedModules) {
  const ModelSchema schema("LlamaForCausalLM", {});
  const std::string q = "model.layers.3.self_attn.q_proj";
  for (const char* part :
       {".weight",
        ".weight_scale_inv",
        ".weight_scale",
        ".weight_scale_2",
        ".input_scale",
        ".bias"})
    EXPECT_EQ(schema.role(q + part), Role::kAttnQ) << part;
  EXPECT_EQ(schema.role("model.norm.weight"), Role::kNorm);
  EXPECT_EQ(schema.role("model.layers.3.input_layernorm.weight"), Role::kNorm);
  EXPECT_EQ(schema.role("model.layers.3.self_attn.rotary_emb.inv_freq"), Role::kOther);
  EXPECT_EQ(schema.role(""), Role::kOther);
  EXPECT_EQ(schema.role("..."), Role::kOther);
  EXPECT_EQ(schema.role("model.layers.x.self_attn.q_proj.weight"), Role::kOther);
}

// Names as in Qwen2-VL-7B (biases, vision tower beside the decoder).
TEST(ModelSchema, QwenVisionIsNoDecoder) {
  EXPECT_EQ(
      print(
          "Qwen2VLForConditionalGeneration",
          {"model.layers.27.self_attn.q_proj.bias",
           "model.layers.27.self_attn.q_proj.weight",
           "model.layers.27.self_attn.k_proj.weight",
           "model.layers.27.self_attn.v_proj.weight",
           "visual.blocks.31.attn.proj.weight",
           "visual.blocks.31.attn.qkv.weight",
           "visual.blocks.31.mlp.gate_proj.weight",
           "visual.blocks.31.norm1.weight",
           "visual.merger.mlp.0.weight",
           "visual.patch_embed.proj.weight"}
      ),
      "model.layers.27.self_attn.q_proj attn.q 27 model.layers.27.self_attn.qkv\n"
      "model.layers.27.self_attn.k_proj attn.k 27 model.layers.27.self_attn.qkv\n"
      "model.layers.27.self_attn.v_proj attn.v 27 model.layers.27.self_attn.qkv\n"
      "visual.blocks.31.attn.proj vision -1 -\n"
      "visual.blocks.31.attn.qkv vision -1 -\n"
      "visual.blocks.31.mlp.gate_proj vision -1 -\n"
      "visual.blocks.31.norm1 vision -1 -\n"
      "visual.merger.mlp.0 vision -1 -\n"
      "visual.patch_embed.proj vision -1 -\n"
  );
}

// Names as in Gemma 3 with its projector, and Qwen3's q_norm and k_norm.
TEST(ModelSchema, GemmaAndQwenNorms) {
  const std::vector<std::string> names = {
      "language_model.model.embed_tokens.weight",
      "language_model.model.layers.5.pre_feedforward_layernorm.weight",
      "language_model.model.layers.5.self_attn.q_norm.weight",
      "language_model.model.layers.5.self_attn.k_norm.weight",
      "language_model.model.layers.5.mlp.up_proj.weight",
      "language_model.model.norm.weight",
      "multi_modal_projector.mm_soft_emb_norm.weight",
      "vision_tower.vision_model.encoder.layers.3.self_attn.out_proj.weight",
  };
  EXPECT_EQ(
      print("Gemma3ForConditionalGeneration", names),
      "language_model.model.embed_tokens embedding -1 -\n"
      "language_model.model.layers.5.mlp.up_proj mlp.up 5 -\n"
      "multi_modal_projector.mm_soft_emb_norm vision -1 -\n"
      "vision_tower.vision_model.encoder.layers.3.self_attn.out_proj vision -1 -\n"
  );
}

// Names as in Mixtral-8x22B: w1 gate, w3 up, w2 down.
TEST(ModelSchema, MixtralExperts) {
  EXPECT_EQ(
      print(
          "MixtralForCausalLM",
          {"model.layers.1.block_sparse_moe.experts.7.w1.weight",
           "model.layers.1.block_sparse_moe.experts.7.w2.weight",
           "model.layers.1.block_sparse_moe.experts.7.w3.weight",
           "model.layers.1.block_sparse_moe.gate.weight"}
      ),
      "model.layers.1.block_sparse_moe.experts.7.w1 moe.gate 1 "
      "model.layers.1.block_sparse_moe.experts.7.gate_up\n"
      "model.layers.1.block_sparse_moe.experts.7.w2 moe.down 1 -\n"
      "model.layers.1.block_sparse_moe.experts.7.w3 moe.up 1 "
      "model.layers.1.block_sparse_moe.experts.7.gate_up\n"
      "model.layers.1.block_sparse_moe.gate moe.router 1 -\n"
  );
}

// Names as in DeepSeek-V3: MLA, shared and routed experts, the prediction layer behind the last.
TEST(ModelSchema, DeepSeek) {
  const std::vector<std::string> names = {
      "model.layers.3.self_attn.q_a_proj.weight",
      "model.layers.3.self_attn.q_a_proj.weight_scale_inv",
      "model.layers.3.self_attn.q_a_layernorm.weight",
      "model.layers.3.self_attn.q_b_proj.weight",
      "model.layers.3.self_attn.kv_a_proj_with_mqa.weight",
      "model.layers.3.self_attn.kv_a_layernorm.weight",
      "model.layers.3.self_attn.kv_b_proj.weight",
      "model.layers.3.self_attn.o_proj.weight",
      "model.layers.3.self_attn.indexer.wk.weight",
      "model.layers.3.mlp.gate.weight",
      "model.layers.3.mlp.gate.e_score_correction_bias",
      "model.layers.3.mlp.shared_experts.gate_proj.weight",
      "model.layers.3.mlp.shared_experts.up_proj.weight",
      "model.layers.3.mlp.experts.255.gate_proj.weight",
      "model.layers.3.mlp.experts.255.up_proj.weight",
      "model.layers.3.mlp.experts.255.down_proj.weight",
      "model.layers.61.eh_proj.weight",
      "model.layers.61.enorm.weight",
      "model.layers.61.shared_head.norm.weight",
      "model.layers.61.shared_head.head.weight",
  };
  const std::string a = "model.layers.3.self_attn.";
  const std::string m = "model.layers.3.mlp.";
  EXPECT_EQ(
      print("DeepseekV3ForCausalLM", names),
      a + "q_a_proj attn.q_a 3 " + a + "qkv_a\n" +               //
          a + "q_b_proj attn.q_b 3 -\n" +                        //
          a + "kv_a_proj_with_mqa attn.kv_a 3 " + a + "qkv_a\n"  //
          + a + "kv_b_proj attn.kv_b 3 -\n"                      //
          + a + "o_proj attn.o 3 -\n"                            //
          + a + "indexer.wk attn.indexer 3 -\n"                  //
          + m + "gate moe.router 3 -\n"                          //
          + m + "shared_experts.gate_proj mlp.gate 3 " + m + "shared_experts.gate_up\n" + m +
          "shared_experts.up_proj mlp.up 3 " + m + "shared_experts.gate_up\n" + m +
          "experts.255.gate_proj moe.gate 3 " + m + "experts.255.gate_up\n" + m +
          "experts.255.up_proj moe.up 3 " + m + "experts.255.gate_up\n" + m +
          "experts.255.down_proj moe.down 3 -\n" +
          "model.layers.61.eh_proj mtp 61 -\n"
          "model.layers.61.shared_head.head lm_head 61 -\n"
  );
  const ModelSchema schema("DeepseekV3ForCausalLM", names);
  EXPECT_EQ(schema.role("model.layers.3.mlp.gate.e_score_correction_bias"), Role::kMoeRouter);
  EXPECT_EQ(schema.role("model.layers.61.shared_head.norm.weight"), Role::kNorm);
}

// DeepSeek-V2-Lite has no q_a_proj: engines then fuse nothing in attention.
TEST(ModelSchema, LoneMembersAreNoGroup) {
  EXPECT_EQ(
      print(
          "DeepseekV2ForCausalLM",
          {"model.layers.3.self_attn.q_proj.weight",
           "model.layers.3.self_attn.kv_a_proj_with_mqa.weight"}
      ),
      "model.layers.3.self_attn.q_proj attn.q 3 -\n"
      "model.layers.3.self_attn.kv_a_proj_with_mqa attn.kv_a 3 -\n"
  );
}

TEST(ModelSchema, FusedOnDisk) {
  EXPECT_EQ(
      print(
          "Phi3ForCausalLM",
          {"model.layers.0.self_attn.qkv_proj.weight", "model.layers.0.mlp.gate_up_proj.weight"}
      ),
      "model.layers.0.self_attn.qkv_proj attn.qkv 0 -\n"
      "model.layers.0.mlp.gate_up_proj mlp.gate_up 0 -\n"
  );
  const ModelSchema oss("GptOssForCausalLM", {});
  EXPECT_EQ(oss.role("model.layers.0.mlp.experts.gate_up_proj_blocks"), Role::kMoeGateUp);
  EXPECT_EQ(oss.role("model.layers.0.mlp.experts.down_proj_scales"), Role::kMoeDown);
  EXPECT_EQ(oss.role("model.layers.0.mlp.router.weight"), Role::kMoeRouter);
}

// Names as in Qwen3.5-MoE: parts of gated linear attention have one role.
TEST(ModelSchema, QwenMoeWithLinearAttention) {
  EXPECT_EQ(
      print(
          "Qwen3_5MoeForConditionalGeneration",
          {"model.language_model.layers.0.linear_attn.in_proj_qkv.weight",
           "model.language_model.layers.0.linear_attn.norm.weight",
           "model.language_model.layers.0.linear_attn.out_proj.weight",
           "model.language_model.layers.0.mlp.shared_expert_gate.weight",
           "model.language_model.layers.0.mlp.gate.weight"}
      ),
      "model.language_model.layers.0.linear_attn.in_proj_qkv linear_attn 0 -\n"
      "model.language_model.layers.0.linear_attn.out_proj linear_attn 0 -\n"
      "model.language_model.layers.0.mlp.shared_expert_gate moe.router 0 -\n"
      "model.language_model.layers.0.mlp.gate moe.router 0 -\n"
  );
}

TEST(ModelSchema, OlderLayouts) {
  const ModelSchema gpt2("GPT2LMHeadModel", {});
  EXPECT_EQ(gpt2.role("transformer.h.3.attn.c_attn.weight"), Role::kAttnQkv);
  EXPECT_EQ(gpt2.role("transformer.h.3.attn.c_proj.weight"), Role::kAttnO);
  EXPECT_EQ(gpt2.role("transformer.h.3.mlp.c_proj.weight"), Role::kMlpDown);
  EXPECT_EQ(gpt2.role("transformer.h.3.ln_1.weight"), Role::kNorm);
  EXPECT_EQ(gpt2.role("transformer.wte.weight"), Role::kEmbedding);
  const ModelSchema qwen("QWenLMHeadModel", {});
  EXPECT_EQ(qwen.role("transformer.h.3.mlp.w1.weight"), Role::kMlpUp);
  EXPECT_EQ(qwen.role("transformer.h.3.mlp.w2.weight"), Role::kMlpGate);
  const ModelSchema molmo("MolmoForCausalLM", {});
  EXPECT_EQ(molmo.role("model.transformer.ff_out.weight"), Role::kLmHead);
  EXPECT_EQ(molmo.role("model.transformer.blocks.0.ff_out.weight"), Role::kMlpDown);
  EXPECT_EQ(molmo.role("model.vision_backbone.image_pooling_2d.wk.weight"), Role::kVision);
}

std::string storage(const char* architecture, const char* tensor) {
  const auto found = ModelSchema(architecture, {tensor}).fused_storage(tensor);
  if (!found) return "one";
  std::string text;
  for (const Role role : found->parts) text += std::string(role_name(role)) + ' ';
  if (found->experts) text += "experts ";
  if (found->in_out) text += "in-out ";
  if (found->interleaved) text += "interleaved ";
  return text;
}

TEST(FusedStorage, ByFamily) {
  EXPECT_EQ(
      storage("Phi3ForCausalLM", "model.layers.0.self_attn.qkv_proj.weight"),
      "attn.q attn.k attn.v "
  );
  EXPECT_EQ(
      storage("Phi3ForCausalLM", "model.layers.0.mlp.gate_up_proj.weight"), "mlp.gate mlp.up "
  );
  EXPECT_EQ(
      storage("MolmoForCausalLM", "model.transformer.blocks.0.ff_proj.weight"), "mlp.up mlp.gate "
  );
  EXPECT_EQ(
      storage("GPT2LMHeadModel", "transformer.h.3.attn.c_attn.weight"),
      "attn.q attn.k attn.v in-out "
  );
  EXPECT_EQ(storage("GPTNeoXForCausalLM", "layers.0.attention.query_key_value.weight"), "one");
  EXPECT_EQ(
      storage("GptOssForCausalLM", "model.layers.0.mlp.experts.gate_up_proj"),
      "moe.gate moe.up experts in-out interleaved "
  );
  EXPECT_EQ(
      storage("GptOssForCausalLM", "model.layers.0.mlp.experts.gate_up_proj_blocks"),
      "moe.gate moe.up experts interleaved "
  );
  EXPECT_EQ(
      storage("GptOssForCausalLM", "model.layers.0.mlp.experts.down_proj"),
      "moe.down experts in-out "
  );
  EXPECT_EQ(
      storage(
          "Llama4ForConditionalGeneration",
          "language_model.model.layers.1.feed_forward.experts.gate_up_proj"
      ),
      "moe.gate moe.up experts in-out "
  );
  EXPECT_EQ(
      storage(
          "Qwen3_5MoeForConditionalGeneration",
          "model.language_model.layers.0.mlp.experts.gate_up_proj"
      ),
      "moe.gate moe.up experts "
  );
  EXPECT_EQ(
      storage("GraniteMoeForCausalLM", "model.layers.0.block_sparse_moe.input_linear.weight"),
      "moe.gate moe.up experts "
  );
  EXPECT_EQ(
      storage(
          "Mistral3ForConditionalGeneration",
          "language_model.model.layers.0.mlp.switch_mlp.up_proj.weight"
      ),
      "moe.up experts "
  );
  EXPECT_EQ(storage("DeepseekV3ForCausalLM", "model.layers.3.mlp.experts.7.up_proj.weight"), "one");
  EXPECT_EQ(storage("LlamaForCausalLM", "model.layers.3.self_attn.q_proj.weight"), "one");
}

TEST(FusedStorage, SplitsRows) {
  const FusedStorage qkv{{Role::kAttnQ, Role::kAttnK, Role::kAttnV}};
  const auto parts = split_rows(qkv, 12, {8, 2, 2});
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts[1].role, Role::kAttnK);
  EXPECT_EQ(parts[1].begin, 8);
  EXPECT_EQ(parts[1].rows, 2);
  EXPECT_EQ(parts[2].begin, 10);
  EXPECT_THROW((void)split_rows(qkv, 13, {8, 2, 2}), DataError);
  EXPECT_THROW((void)split_rows(qkv, 12), DataError);
  const FusedStorage gate_up{{Role::kMoeGate, Role::kMoeUp}, true, true, false};
  EXPECT_EQ(split_rows(gate_up, 10)[1].begin, 5);
  EXPECT_THROW((void)split_rows(gate_up, 11), DataError);
  const FusedStorage alternating{{Role::kMoeGate, Role::kMoeUp}, true, true, true};
  const auto up = split_rows(alternating, 10)[1];
  EXPECT_EQ(up.begin, 1);
  EXPECT_EQ(up.rows, 5);
  EXPECT_EQ(up.step, 2);
  const FusedStorage with_mlp{{Role::kAttnQ, Role::kAttnK, Role::kAttnV, Role::kMlpUp}};
  EXPECT_EQ(split_rows(with_mlp, 20, {4, 4, 4})[3].rows, 8);
  EXPECT_THROW((void)split_rows(with_mlp, 12, {4, 4, 4}), DataError);
}

TEST(ModelSchema, FindsModulesByName) {
  const ModelSchema schema("LlamaForCausalLM", {"lm_head.weight", "model.norm.weight"});
  ASSERT_NE(schema.find("lm_head"), nullptr);
  EXPECT_EQ(schema.find("lm_head")->role, Role::kLmHead);
  EXPECT_EQ(schema.find("model.norm"), nullptr);
  EXPECT_EQ(schema.find("lm_head.weight"), nullptr);
}

TEST(Role, NamesAreInverse) {
  for (int i = 0; i <= static_cast<int>(Role::kOther); ++i) {
    const Role role = static_cast<Role>(i);
    EXPECT_EQ(parse_role(role_name(role)), role);
  }
  EXPECT_EQ(parse_role("attn"), std::nullopt);
}

TEST(DecoderNames, SpellTheLayoutOfLlama) {
  EXPECT_EQ(decoder_names::layer_module(3, Role::kAttnO), "model.layers.3.self_attn.o_proj");
  EXPECT_EQ(decoder_names::layer_module(3, Role::kMlpGate), "model.layers.3.mlp.gate_proj");
  EXPECT_EQ(decoder_names::attention_norm(0), "model.layers.0.input_layernorm");
  EXPECT_EQ(decoder_names::mlp_norm(0), "model.layers.0.post_attention_layernorm");
  EXPECT_THROW((void)decoder_names::layer_module(0, Role::kNorm), InternalError);
}

}  // namespace
}  // namespace hone
