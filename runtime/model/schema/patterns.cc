#include "runtime/model/schema/patterns.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

namespace hone {
namespace {

bool any_of(const NameParts& parts, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(parts, [&](std::string_view part) {
    return std::ranges::find(words, part) != words.end();
  });
}

bool any_contains(const NameParts& parts, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(parts, [&](std::string_view part) {
    return std::ranges::any_of(words, [&](std::string_view word) {
      return part.find(word) != std::string_view::npos;
    });
  });
}

// Image towers and the projectors behind them. Their inner names look like a decoder's, so this
// is asked first.
bool is_vision(const NameParts& parts) {
  return any_of(
             parts,
             {"visual",
              "vit",
              "image_encoder",
              "img_processor",
              "sam_model",
              "qwen2_model",  // the encoder of DeepSeek-OCR-2
              "projector",
              "mm_projector",
              "multi_modal_projector",
              "image_newline",
              "view_seperator",
              "mlp1"}
         ) ||
         any_contains(parts, {"vision", "patch_embed", "img_projection", "image_"});
}

bool is_norm(std::string_view part) {
  return part.find("norm") != std::string_view::npos || part.starts_with("ln_");
}

// Leaf names whose role does not depend on where they stand.
std::optional<Role> fixed_role(std::string_view leaf) {
  static const std::map<std::string_view, Role> kLeaves = {
      {"embed_tokens", Role::kEmbedding},
      {"tok_embeddings", Role::kEmbedding},
      {"word_embeddings", Role::kEmbedding},
      {"embed_in", Role::kEmbedding},
      {"wte", Role::kEmbedding},
      {"wpe", Role::kPosition},
      {"position_embedding", Role::kPosition},
      {"position_embeddings", Role::kPosition},
      {"pos_embed", Role::kPosition},
      {"relative_attention_bias", Role::kPosition},
      {"rotary_emb", Role::kPosition},
      {"lm_head", Role::kLmHead},
      {"embed_out", Role::kLmHead},
      {"shared_head", Role::kLmHead},
      {"q_proj", Role::kAttnQ},
      {"wq", Role::kAttnQ},
      {"k_proj", Role::kAttnK},
      {"wk", Role::kAttnK},
      {"v_proj", Role::kAttnV},
      {"wv", Role::kAttnV},
      {"o_proj", Role::kAttnO},
      {"attn_out", Role::kAttnO},
      {"qkv_proj", Role::kAttnQkv},
      {"query_key_value", Role::kAttnQkv},
      {"Wqkv", Role::kAttnQkv},
      {"c_attn", Role::kAttnQkv},
      {"att_proj", Role::kAttnQkv},
      {"q_a_proj", Role::kAttnQA},
      {"q_b_proj", Role::kAttnQB},
      {"kv_a_proj_with_mqa", Role::kAttnKvA},
      {"kv_b_proj", Role::kAttnKvB},
      {"embed_q", Role::kAttnKvB},  // kv_b cut in two by heads (MLX)
      {"unembed_out", Role::kAttnKvB},
      {"g_proj", Role::kAttnGate},
      {"sinks", Role::kAttnSinks},
      {"router", Role::kMoeRouter},
      {"shared_expert_gate", Role::kMoeRouter},
      {"e_score_correction_bias", Role::kMoeRouter},
      {"routed_expert_down_proj", Role::kMoeLatent},
      {"routed_expert_up_proj", Role::kMoeLatent},
      {"self_attention_res_proj", Role::kResidual},
      {"mlp_res_proj", Role::kResidual},
      {"output_attn_res_proj", Role::kResidual},
      {"eh_proj", Role::kMtp},
      {"dense_h_to_4h", Role::kMlpUp},
      {"dense_4h_to_h", Role::kMlpDown},
      {"c_fc", Role::kMlpUp},
      // Kimi delta attention inside self_attn.
      {"q_conv1d", Role::kLinearAttn},
      {"k_conv1d", Role::kLinearAttn},
      {"v_conv1d", Role::kLinearAttn},
      {"A_log", Role::kLinearAttn},
      {"dt_bias", Role::kLinearAttn},
      {"f_a_proj", Role::kLinearAttn},
      {"f_b_proj", Role::kLinearAttn},
      {"b_proj", Role::kLinearAttn},
      {"g_a_proj", Role::kLinearAttn},
      {"g_b_proj", Role::kLinearAttn},
  };
  const auto it = kLeaves.find(leaf);
  if (it == kLeaves.end()) return std::nullopt;
  return it->second;
}

// Feed-forward leaves: the same words in dense layers and in experts.
enum class MlpPart : uint8_t { kGate, kUp, kDown, kGateUp };

std::optional<MlpPart> mlp_part(std::string_view leaf) {
  static const std::map<std::string_view, MlpPart> kLeaves = {
      {"gate_proj", MlpPart::kGate},
      {"w1", MlpPart::kGate},
      {"up_proj", MlpPart::kUp},
      {"w3", MlpPart::kUp},
      {"fc1", MlpPart::kUp},
      {"down_proj", MlpPart::kDown},
      {"w2", MlpPart::kDown},
      {"fc2", MlpPart::kDown},
      {"ff_out", MlpPart::kDown},
      {"gate_up_proj", MlpPart::kGateUp},
      {"w13", MlpPart::kGateUp},
      {"ff_proj", MlpPart::kGateUp},
  };
  // GPT-OSS appends what is stored: gate_up_proj_blocks, gate_up_proj_scales, gate_up_proj_bias.
  for (const std::string_view suffix : {"_blocks", "_scales", "_bias"}) {
    if (leaf.ends_with(suffix)) leaf.remove_suffix(suffix.size());
  }
  const auto it = kLeaves.find(leaf);
  if (it == kLeaves.end()) return std::nullopt;
  return it->second;
}

Role mlp_role(MlpPart part, bool routed) {
  switch (part) {
    case MlpPart::kGate:
      return routed ? Role::kMoeGate : Role::kMlpGate;
    case MlpPart::kUp:
      return routed ? Role::kMoeUp : Role::kMlpUp;
    case MlpPart::kDown:
      return routed ? Role::kMoeDown : Role::kMlpDown;
    case MlpPart::kGateUp:
      return routed ? Role::kMoeGateUp : Role::kMlpGateUp;
  }
  return Role::kOther;
}

// T5 and its kin: "SelfAttention.q", "DenseReluDense.wi_0".
std::optional<Role> t5_role(std::string_view parent, std::string_view leaf) {
  if (parent == "SelfAttention" || parent == "EncDecAttention") {
    if (leaf == "q") return Role::kAttnQ;
    if (leaf == "k") return Role::kAttnK;
    if (leaf == "v") return Role::kAttnV;
    if (leaf == "o") return Role::kAttnO;
  }
  if (parent == "DenseReluDense") {
    if (leaf == "wi_0") return Role::kMlpGate;
    if (leaf == "wi_1" || leaf == "wi") return Role::kMlpUp;
    if (leaf == "wo") return Role::kMlpDown;
  }
  return std::nullopt;
}

// Role of the component at `at`, given what stands before it; nullopt: no known word.
std::optional<Role> part_role(const NameParts& parts, size_t at) {
  const std::string_view leaf = parts[at];
  const std::string_view parent = at > 0 ? parts[at - 1] : std::string_view();
  if (const auto role = t5_role(parent, leaf)) return role;
  if (const auto role = fixed_role(leaf)) return role;
  if (leaf == "wo") return Role::kAttnO;
  // Molmo calls its head by the name of the blocks' down projection.
  if (leaf == "ff_out" && layer_of(parts) < 0) return Role::kLmHead;
  if (is_norm(leaf)) return Role::kNorm;
  if (const auto part = mlp_part(leaf))
    return mlp_role(*part, any_of(parts, {"experts", "switch_mlp"}));
  if (parent == "block_sparse_moe") {
    // Granite: all experts in one linear layer.
    if (leaf == "input_linear") return Role::kMoeGateUp;
    if (leaf == "output_linear") return Role::kMoeDown;
  }
  const bool in_attention = parent == "attn" || parent == "self_attn" || parent == "attention" ||
                            parent == "self_attention";
  if (in_attention && (leaf == "out_proj" || leaf == "c_proj" || leaf == "dense" || leaf == "proj"))
    return Role::kAttnO;
  if (in_attention && (leaf == "qkv" || leaf == "qkv_packed")) return Role::kAttnQkv;
  if (leaf == "c_proj" && parent == "mlp") return Role::kMlpDown;
  if (leaf == "gate" &&
      (parent == "mlp" || parent == "block_sparse_moe" || parent == "feed_forward"))
    return Role::kMoeRouter;
  if (leaf == "fc" && parent == "mtp") return Role::kMtp;
  if (leaf == "output" && at == 0) return Role::kLmHead;
  if (leaf == "shared" && at == 0) return Role::kEmbedding;  // T5
  return std::nullopt;
}

// Parts of a group with inner names like a decoder's, where only norms are told apart.
std::optional<Role> set_apart(const NameParts& parts) {
  const bool norm = parts.size() > 1 && is_norm(parts[parts.size() - 2]);
  if (any_of(parts, {"audio_tower", "audio_model", "embed_audio"})) return Role::kAudio;
  if (any_of(parts, {"indexer"})) return norm ? Role::kNorm : Role::kAttnIndexer;
  if (any_of(parts, {"linear_attn", "mamba"})) return norm ? Role::kNorm : Role::kLinearAttn;
  // Nemotron-H calls every block "mixer", state-space ones too.
  const auto mixer = std::ranges::find(parts, "mixer");
  if (mixer != parts.end() && mixer + 1 != parts.end()) {
    static constexpr std::string_view kStateSpace[] = {
        "in_proj", "out_proj", "conv1d", "A_log", "D", "dt_bias"};
    if (std::ranges::find(kStateSpace, *(mixer + 1)) != std::end(kStateSpace))
      return Role::kLinearAttn;
    if (*(mixer + 1) == "gate") return Role::kMoeRouter;
  }
  return std::nullopt;
}

}  // namespace

NameParts split_name(std::string_view name) {
  NameParts parts;
  size_t begin = 0;
  while (begin <= name.size()) {
    const size_t dot = std::min(name.find('.', begin), name.size());
    parts.push_back(name.substr(begin, dot - begin));
    begin = dot + 1;
  }
  return parts;
}

int64_t layer_of(const NameParts& parts) {
  static constexpr std::string_view kBlocks[] = {
      "layers",
      "h",
      "blocks",
      "block",
      "layer",
      "transformer_blocks",
      "single_transformer_blocks",
      "double_blocks",
      "single_blocks"};
  if (!parts.empty() && parts[0] == "mtp") return -1;
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    if (std::ranges::find(kBlocks, parts[i]) == std::end(kBlocks)) continue;
    const std::string_view digits = parts[i + 1];
    int64_t layer = -1;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), layer);
    if (error == std::errc() && end == digits.data() + digits.size() && layer >= 0) return layer;
  }
  return -1;
}

Role decoder_role(const NameParts& parts) {
  if (is_vision(parts)) return Role::kVision;
  if (const auto role = set_apart(parts)) return *role;
  // The last component is the module itself, a parameter ("weight") or, as in
  // "gate.e_score_correction_bias" and "weight.quant_state.bitsandbytes__nf4", something that hangs
  // on the module.
  const size_t n = parts.size();
  for (size_t back = 1; back <= std::min<size_t>(4, n); ++back) {
    if (const auto role = part_role(parts, n - back)) return *role;
  }
  return Role::kOther;
}

bool is_diffusion_name(const NameParts& parts) {
  return any_of(
      parts, {"transformer_blocks", "single_transformer_blocks", "double_blocks", "single_blocks"}
  );
}

bool is_added_stream(const NameParts& parts) {
  return any_contains(parts, {"add_q_proj", "add_k_proj", "add_v_proj", "to_add_out", "txt_"}) ||
         any_of(parts, {"ff_context"});
}

Role diffusion_role(const NameParts& parts) {
  if (any_of(parts, {"adaLN_modulation", "modulation", "img_mod", "txt_mod", "scale_shift_table"}))
    return Role::kModulation;
  // Norms with a linear layer inside are the modulation: "norm1.linear", "norm_out.linear".
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    if (is_norm(parts[i]) && parts[i + 1] == "linear") return Role::kModulation;
  }
  if (std::ranges::any_of(parts, is_norm)) return Role::kNorm;
  const bool in_block = layer_of(parts) >= 0;
  if (!in_block) {
    if (any_of(parts, {"proj_out", "final_layer"})) return Role::kProjectOut;
    if (any_of(parts, {"pos_embed"}) && !any_of(parts, {"proj"})) return Role::kPosition;
    // Everything else in front of the blocks carries patches, text, time or guidance.
    return Role::kCondition;
  }
  static const std::map<std::string_view, Role> kLeaves = {
      {"to_q", Role::kAttnQ},
      {"to_k", Role::kAttnK},
      {"to_v", Role::kAttnV},
      {"to_out", Role::kAttnO},
      {"add_q_proj", Role::kAttnQ},
      {"add_k_proj", Role::kAttnK},
      {"add_v_proj", Role::kAttnV},
      {"to_add_out", Role::kAttnO},
      {"qkv", Role::kAttnQkv},
      {"proj_mlp", Role::kMlpUp},
      // Attention's output and the MLP's way down, one matrix over both inputs.
      {"proj_out", Role::kMlpDown},
      // q, k, v and the MLP's way up in one; and back.
      {"linear1", Role::kAttnQkv},
      {"linear2", Role::kMlpDown},
  };
  for (size_t i = parts.size(); i-- > 0;) {
    const auto it = kLeaves.find(parts[i]);
    if (it != kLeaves.end()) return it->second;
    const std::string_view parent = i > 0 ? parts[i - 1] : std::string_view();
    if (parent == "ff" || parent == "ff_context" || parent == "net" || parent == "img_mlp" ||
        parent == "txt_mlp") {
      if (parts[i] == "0") return Role::kMlpUp;
      if (parts[i] == "2") return Role::kMlpDown;
    }
    if (parts[i] == "proj" && parent.ends_with("attn")) return Role::kAttnO;
  }
  return Role::kOther;
}

}  // namespace hone
