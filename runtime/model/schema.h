// Tensor names of an architecture: roles, fused groups, what is stored as one. Together with the
// files of schema/ the only place that knows them.
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
  kAttnGate,     // multiplied into the output of attention (Kimi-K3)
  kAttnSinks,    // GPT-OSS
  kAttnIndexer,  // chooses the tokens of sparse attention (DeepSeek-V3.2, GLM-5)
  kLinearAttn,   // parts of linear attention and state-space layers
  kMlpGate,      // shared experts count as dense: every token passes through them
  kMlpUp,
  kMlpDown,
  kMlpGateUp,  // fused on disk (Phi gate_up_proj)
  kMoeRouter,
  kMoeGate,
  kMoeUp,
  kMoeDown,
  kMoeGateUp,   // fused on disk (gate_up_proj of all experts)
  kMoeLatent,   // into and out of the space that routed experts work in (Kimi-K3)
  kResidual,    // scores of earlier residuals (Kimi-K3)
  kMtp,         // joins hidden state and embedding in front of a prediction layer
  kPosition,    // position tables and rotary frequencies
  kVision,      // towers and projectors
  kAudio,       // likewise
  kModulation,  // diffusion: shifts and scales of norms from the time step
  kCondition,   // diffusion: patches, text, time and guidance into the transformer's width
  kProjectOut,  // diffusion: back to patches
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

// How several logical matrices lie in one tensor. They lie one after the other along the output
// axis unless `interleaved`.
struct FusedStorage {
  std::vector<Role> parts;   // in stored order: q, k, v or gate, up; one part: experts only
  bool experts = false;      // the first axis counts experts
  bool in_out = false;       // [.., in, out] instead of [.., out, in]
  bool interleaved = false;  // gate and up alternate row by row (GPT-OSS)
};

// A row range of a matrix that holds several: row i of the part is row begin + i * step.
struct SplitPart {
  Role role = Role::kOther;
  int64_t begin = 0;
  int64_t rows = 0;
  int64_t step = 1;
};

// Classifies the names of a checkpoint. `names` are tensor names; `architecture` is the first
// entry of config.json's "architectures" (or diffusers' "_class_name"). Names of known and unknown
// architectures are read by the words in them; is_fallback() tells which it was.
class ModelSchema {
 public:
  ModelSchema(std::string architecture, const std::vector<std::string>& names);

  // Modules in the order of `names`: every "<module>.weight" (or packed form of it) that is no
  // norm, embedding and lm_head included; the caller checks ranks.
  [[nodiscard]] const std::vector<ModuleInfo>& modules() const { return modules_; }
  // Role of any tensor name (norms, biases, scales included).
  [[nodiscard]] Role role(std::string_view tensor) const;
  [[nodiscard]] const ModuleInfo* find(std::string_view module) const;
  // The architecture is not one whose names were checked: roles are guesses by name, and people
  // who rely on them should be told.
  [[nodiscard]] bool is_fallback() const { return fallback_; }
  // What lies in the tensor besides one matrix; nullopt: nothing, it is one matrix.
  [[nodiscard]] std::optional<FusedStorage> fused_storage(std::string_view tensor) const;

 private:
  std::string architecture_;
  bool fallback_ = false;
  bool diffusion_ = false;
  std::vector<ModuleInfo> modules_;
  std::unordered_map<std::string, size_t> index_;
};

// Row ranges of the parts of a tensor with `rows` output rows. `qkv_rows` are the rows of q, k and
// v (heads * head_dim, twice kv_heads * head_dim); gate and up are halves. Throws DataError when
// the rows do not add up.
std::vector<SplitPart> split_rows(
    const FusedStorage& storage, int64_t rows, const std::vector<int64_t>& qkv_rows = {}
);

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
