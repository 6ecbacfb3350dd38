#include "runtime/model/schema.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include "core/base/error.h"

namespace hone {
namespace {

struct RoleName {
  Role role;
  std::string_view name;
};

constexpr RoleName kRoleNames[] = {
    {Role::kEmbedding, "embedding"},
    {Role::kLmHead, "lm_head"},
    {Role::kNorm, "norm"},
    {Role::kAttnQ, "attn.q"},
    {Role::kAttnK, "attn.k"},
    {Role::kAttnV, "attn.v"},
    {Role::kAttnO, "attn.o"},
    {Role::kAttnQkv, "attn.qkv"},
    {Role::kAttnQA, "attn.q_a"},
    {Role::kAttnQB, "attn.q_b"},
    {Role::kAttnKvA, "attn.kv_a"},
    {Role::kAttnKvB, "attn.kv_b"},
    {Role::kMlpGate, "mlp.gate"},
    {Role::kMlpUp, "mlp.up"},
    {Role::kMlpDown, "mlp.down"},
    {Role::kMlpGateUp, "mlp.gate_up"},
    {Role::kMoeRouter, "moe.router"},
    {Role::kMoeGate, "moe.gate"},
    {Role::kMoeUp, "moe.up"},
    {Role::kMoeDown, "moe.down"},
    {Role::kMoeGateUp, "moe.gate_up"},
    {Role::kVision, "vision"},
    {Role::kOther, "other"},
};

constexpr std::string_view kLlama = "LlamaForCausalLM";
constexpr std::string_view kLlamaAttention = "self_attn";
constexpr std::string_view kLlamaMlp = "mlp";
constexpr std::string_view kAttentionNorm = "input_layernorm";
constexpr std::string_view kMlpNorm = "post_attention_layernorm";

// What stands between "model.layers.N." and ".weight" in the layout of Llama.
struct LayerName {
  std::string_view parent;
  std::string_view leaf;
  Role role;
};

constexpr LayerName kLlamaLayer[] = {
    {kLlamaAttention, "q_proj", Role::kAttnQ},
    {kLlamaAttention, "k_proj", Role::kAttnK},
    {kLlamaAttention, "v_proj", Role::kAttnV},
    {kLlamaAttention, "o_proj", Role::kAttnO},
    {kLlamaMlp, "gate_proj", Role::kMlpGate},
    {kLlamaMlp, "up_proj", Role::kMlpUp},
    {kLlamaMlp, "down_proj", Role::kMlpDown},
};

using Parts = std::vector<std::string_view>;

Parts split(std::string_view name) {
  Parts parts;
  size_t begin = 0;
  while (begin <= name.size()) {
    const size_t dot = std::min(name.find('.', begin), name.size());
    parts.push_back(name.substr(begin, dot - begin));
    begin = dot + 1;
  }
  return parts;
}

bool any_of(const Parts& parts, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(parts, [&](std::string_view part) {
    return std::ranges::find(words, part) != words.end();
  });
}

bool any_contains(const Parts& parts, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(parts, [&](std::string_view part) {
    return std::ranges::any_of(words, [&](std::string_view word) {
      return part.find(word) != std::string_view::npos;
    });
  });
}

// Image towers and the projectors behind them. Their inner names look like a decoder's, so this
// is asked first.
bool is_vision(const Parts& parts) {
  return any_of(
             parts,
             {"visual",
              "vit",
              "image_encoder",
              "img_processor",
              "sam_model",
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

// "layers.7" -> 7; also blocks of GPT-2 ("h.7") and Molmo ("blocks.7").
int64_t layer_of(const Parts& parts) {
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    const std::string_view p = parts[i];
    if (p != "layers" && p != "h" && p != "blocks" && p != "block" && p != "layer") continue;
    const std::string_view digits = parts[i + 1];
    int64_t layer = -1;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), layer);
    if (error == std::errc() && end == digits.data() + digits.size() && layer >= 0) return layer;
  }
  return -1;
}

// Leaf names whose role does not depend on where they stand.
std::optional<Role> fixed_role(std::string_view leaf) {
  static const std::map<std::string_view, Role> kLeaves = {
      {"embed_tokens", Role::kEmbedding},
      {"tok_embeddings", Role::kEmbedding},
      {"word_embeddings", Role::kEmbedding},
      {"embed_in", Role::kEmbedding},
      {"wte", Role::kEmbedding},
      {"wpe", Role::kEmbedding},
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
      {"wo", Role::kAttnO},
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
      {"router", Role::kMoeRouter},
      {"shared_expert_gate", Role::kMoeRouter},
      {"dense_h_to_4h", Role::kMlpUp},
      {"dense_4h_to_h", Role::kMlpDown},
      {"c_fc", Role::kMlpUp},
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

// Role of the component at `at`, given what stands before it; nullopt: no known word.
std::optional<Role> part_role(const Parts& parts, size_t at) {
  const std::string_view leaf = parts[at];
  const std::string_view parent = at > 0 ? parts[at - 1] : std::string_view();
  if (const auto role = fixed_role(leaf)) return role;
  // Molmo calls its head by the name of the blocks' down projection.
  if (leaf == "ff_out" && layer_of(parts) < 0) return Role::kLmHead;
  if (is_norm(leaf)) return Role::kNorm;
  if (const auto part = mlp_part(leaf))
    return mlp_role(*part, any_of(parts, {"experts", "switch_mlp"}));
  const bool in_attention = parent == "attn" || parent == "self_attn" || parent == "attention" ||
                            parent == "self_attention";
  if (in_attention && (leaf == "out_proj" || leaf == "c_proj" || leaf == "dense" || leaf == "proj"))
    return Role::kAttnO;
  if (in_attention && (leaf == "qkv" || leaf == "qkv_packed")) return Role::kAttnQkv;
  if (leaf == "c_proj" && parent == "mlp") return Role::kMlpDown;
  if (leaf == "gate" &&
      (parent == "mlp" || parent == "block_sparse_moe" || parent == "feed_forward"))
    return Role::kMoeRouter;
  if (leaf == "output" && at == 0) return Role::kLmHead;
  return std::nullopt;
}

Role pattern_role(const Parts& parts) {
  if (is_vision(parts)) return Role::kVision;
  // Linear attention, sparse-attention indexers and audio towers have parts of their own; nothing
  // is guessed there.
  if (any_of(parts, {"linear_attn", "mamba", "indexer", "audio_tower", "audio_model"}))
    return parts.size() > 1 && is_norm(parts[parts.size() - 2]) ? Role::kNorm : Role::kOther;
  // The last component is the module itself, a parameter ("weight") or, as in
  // "gate.e_score_correction_bias", something that hangs on the module.
  const size_t n = parts.size();
  for (size_t back = 1; back <= std::min<size_t>(3, n); ++back) {
    if (const auto role = part_role(parts, n - back)) return *role;
  }
  return Role::kOther;
}

Role llama_role(const Parts& parts) {
  const auto starts = [&](std::initializer_list<std::string_view> words) {
    return parts.size() >= words.size() && std::equal(words.begin(), words.end(), parts.begin());
  };
  if (starts({"model", "embed_tokens"})) return Role::kEmbedding;
  if (starts({"lm_head"})) return Role::kLmHead;
  if (starts({"model", "norm"})) return Role::kNorm;
  if (!starts({"model", "layers"}) || layer_of(parts) < 0 || parts.size() < 4) return Role::kOther;
  if (parts[3] == kAttentionNorm || parts[3] == kMlpNorm) return Role::kNorm;
  if (parts.size() < 5) return Role::kOther;
  for (const LayerName& name : kLlamaLayer) {
    if (parts[3] == name.parent && parts[4] == name.leaf) return name.role;
  }
  return Role::kOther;
}

Role classify(std::string_view architecture, std::string_view name) {
  const Parts parts = split(name);
  if (architecture == kLlama) return llama_role(parts);
  Role role = pattern_role(parts);
  // The first Qwen calls the projection down c_proj, so that w1 and w2 are up and gate.
  if (architecture == "QWenLMHeadModel" && any_of(parts, {"w1"})) return Role::kMlpUp;
  if (architecture == "QWenLMHeadModel" && any_of(parts, {"w2"})) return Role::kMlpGate;
  return role;
}

// The group of modules that read one input and are stored as one matrix by engines.
std::string_view group_suffix(Role role) {
  switch (role) {
    case Role::kAttnQ:
    case Role::kAttnK:
    case Role::kAttnV:
      return ".qkv";
    case Role::kAttnQA:
    case Role::kAttnKvA:
      return ".qkv_a";
    case Role::kMlpGate:
    case Role::kMlpUp:
    case Role::kMoeGate:
    case Role::kMoeUp:
      return ".gate_up";
    default:
      return "";
  }
}

// Module of a weight tensor's name; empty when it is none.
std::string_view module_of(std::string_view tensor) {
  for (const std::string_view suffix : {".weight", ".weight_packed", ".qweight"}) {
    if (tensor.ends_with(suffix)) return tensor.substr(0, tensor.size() - suffix.size());
  }
  return {};
}

}  // namespace

std::string_view role_name(Role role) {
  const auto* it = std::ranges::find(kRoleNames, role, &RoleName::role);
  check(it != std::end(kRoleNames), "role {} has no name", static_cast<int>(role));
  return it->name;
}

std::optional<Role> parse_role(std::string_view name) {
  const auto* it = std::ranges::find(kRoleNames, name, &RoleName::name);
  if (it == std::end(kRoleNames)) return std::nullopt;
  return it->role;
}

ModelSchema::ModelSchema(std::string architecture, const std::vector<std::string>& names)
    : architecture_(std::move(architecture)) {
  std::map<std::string, int> members;
  for (const std::string& name : names) {
    const std::string_view module = module_of(name);
    if (module.empty() || index_.contains(std::string(module))) continue;
    ModuleInfo info;
    info.module = module;
    info.role = classify(architecture_, name);
    if (info.role == Role::kNorm) continue;
    if (info.role != Role::kVision) info.layer = layer_of(split(module));
    const std::string_view suffix = group_suffix(info.role);
    if (!suffix.empty()) {
      info.fused_group = info.module.substr(0, info.module.rfind('.')) + std::string(suffix);
      ++members[info.fused_group];
    }
    index_.emplace(info.module, modules_.size());
    modules_.push_back(std::move(info));
  }
  for (ModuleInfo& info : modules_) {
    if (!info.fused_group.empty() && members[info.fused_group] < 2) info.fused_group.clear();
  }
}

Role ModelSchema::role(std::string_view tensor) const {
  return classify(architecture_, tensor);
}

const ModuleInfo* ModelSchema::find(std::string_view module) const {
  const auto it = index_.find(std::string(module));
  return it == index_.end() ? nullptr : &modules_[it->second];
}

namespace decoder_names {

std::string layer_module(int64_t layer, Role role) {
  const auto* it = std::ranges::find(kLlamaLayer, role, &LayerName::role);
  check(it != std::end(kLlamaLayer), "{} is no module of a decoder layer", role_name(role));
  return fmt::format("model.layers.{}.{}.{}", layer, it->parent, it->leaf);
}

std::string attention_norm(int64_t layer) {
  return fmt::format("model.layers.{}.{}", layer, kAttentionNorm);
}

std::string mlp_norm(int64_t layer) {
  return fmt::format("model.layers.{}.{}", layer, kMlpNorm);
}

}  // namespace decoder_names
}  // namespace hone
