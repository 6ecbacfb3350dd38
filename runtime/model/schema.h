// Tensor names of an architecture: roles, fused groups, inputs. The only file that knows them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace hone {

// What a tensor does. Printed as "attn.q", "mlp.down", "moe.router", ...
enum class Role : uint8_t {
  kEmbedding,
  kLmHead,
  kNorm,
  kAttnQ,
  kAttnK,
  kAttnV,
  kAttnO,
  kAttnQkv,  // fused on disk (Phi qkv_proj)
  kAttnQA,   // MLA: down projections (q_a_proj, kv_a_proj_with_mqa) and up projections
  kAttnQB,
  kAttnKvA,
  kAttnKvB,
  kMlpGate,  // shared experts count as dense: every token passes through them
  kMlpUp,
  kMlpDown,
  kMlpGateUp,  // fused on disk (Phi gate_up_proj)
  kMoeRouter,
  kMoeGate,
  kMoeUp,
  kMoeDown,
  kMoeGateUp,  // fused on disk (gate_up_proj of all experts)
  kVision,     // towers and projectors
  kOther,
};
std::string_view role_name(Role role);
// Inverse; nullopt for unknown names.
std::optional<Role> parse_role(std::string_view name);

// One weight matrix that a linear layer multiplies with.
struct ModuleInfo {
  std::string module;  // "model.layers.3.self_attn.q_proj"
  Role role = Role::kOther;
  int64_t layer = -1;  // -1: outside the decoder layers
  // Members of one group read the same input and are fused by engines, so they must share a global
  // scale and never be split by a plan: "model.layers.3.self_attn.qkv". Empty: alone.
  std::string fused_group;
};

// Classifies the names of a checkpoint. `names` are tensor names; `architecture` is the first
// entry of config.json's "architectures". Unknown architectures fall back to name patterns.
class ModelSchema {
 public:
  ModelSchema(std::string architecture, const std::vector<std::string>& names);

  // Modules in the order of `names`: every "<module>.weight" (or packed form of it) that is no
  // norm, embedding and lm_head included; the caller checks ranks.
  [[nodiscard]] const std::vector<ModuleInfo>& modules() const { return modules_; }
  // Role of any tensor name (norms, biases, scales included).
  [[nodiscard]] Role role(std::string_view tensor) const;
  [[nodiscard]] const ModuleInfo* find(std::string_view module) const;

 private:
  std::string architecture_;
  std::vector<ModuleInfo> modules_;
  std::unordered_map<std::string, size_t> index_;
};

// Names in the layout that Llama and most decoders on the hub share.
namespace decoder_names {
inline constexpr std::string_view kEmbedding = "model.embed_tokens";
inline constexpr std::string_view kFinalNorm = "model.norm";
inline constexpr std::string_view kLmHead = "lm_head";
// "model.layers.3.self_attn.q_proj". Throws InternalError for roles outside a decoder layer.
std::string layer_module(int64_t layer, Role role);
// "model.layers.3.input_layernorm" and "model.layers.3.post_attention_layernorm".
std::string attention_norm(int64_t layer);
std::string mlp_norm(int64_t layer);
}  // namespace decoder_names

}  // namespace hone
