// The sizes of a language model as config.json gives them, for every family whose layout is known,
// with or without a forward pass here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/json.h"

namespace hone {

// Layouts that differ in names or shapes. Members of one family differ in numbers only.
enum class Family : uint8_t {
  kLlama,   // Llama 2/3, Mistral, Falcon 3, MiMo 7B, ...
  kLlama4,  // fused experts, chunked attention
  kQwen2,   // biases on q, k, v (Qwen2, Qwen2.5 and their vision variants)
  kQwen3,   // norms on q and k
  kQwen3Moe,
  kQwen3Next,    // gated delta net in three layers of four, gated attention (Qwen3-Next, Qwen3.5)
  kMixtral,      // w1, w2, w3
  kGemma2,       // norms before and after each block
  kGemma3,       // the same, norms on q and k
  kPhi3,         // qkv and gate_up fused on disk (Phi-3, Phi-4)
  kDeepSeek,     // MLA and shared experts (DeepSeek-V2/V3/R1, Kimi-K2, Mistral-Small-4)
  kDeepSeekDsa,  // the same with the indexer of sparse attention (DeepSeek-V3.2, GLM-5)
  kKimiLinear,   // delta attention and MLA, experts in a latent space (Kimi-K3)
  kGlm4Moe,      // GLM-4.5
  kGptOss,       // fused experts with biases, sinks
  kMiniMaxM2,
  kGraniteMoe,  // fused experts as linear layers
  kUnknown,     // counted as if it were Llama or Mixtral, and said so
};
std::string_view family_name(Family family);

enum class AttentionKind : uint8_t {
  kGrouped,   // multi-head, grouped-query or multi-query attention: keys and values are cached
  kLatent,    // MLA: one latent vector and one rotary key are cached for all heads
  kDeltaNet,  // gated delta net: a state of fixed size
  kKda,       // Kimi delta attention: a state of fixed size
};

struct LayerDimensions {
  AttentionKind attention = AttentionKind::kGrouped;
  int64_t window = 0;    // tokens that attention looks back; 0: all of them
  bool moe = false;      // routed experts instead of one MLP
  bool indexer = false;  // sparse attention with an indexer of its own
};

// Gated delta net and KDA.
struct LinearAttentionDimensions {
  int64_t key_heads = 0;
  int64_t value_heads = 0;
  int64_t key_dim = 0;  // of one head
  int64_t value_dim = 0;
  int64_t kernel = 0;  // of the short convolution
  bool full_rank_gate = false;
};

// Multi-head latent attention.
struct LatentDimensions {
  int64_t q_rank = 0;  // 0: queries are not compressed
  int64_t kv_rank = 0;
  int64_t nope = 0;  // head_dim = nope + rope
  int64_t rope = 0;
  int64_t value = 0;
  bool output_gate = false;
};

struct MoeDimensions {
  int64_t experts = 0;
  int64_t per_token = 0;
  int64_t intermediate = 0;
  int64_t hidden = 0;            // width that routed experts work on; the model's unless latent
  int64_t shared = 0;            // width of all shared experts together; 0: none
  bool correction_bias = false;  // routers carry a bias that only selection uses
  bool latent_norm = false;      // Kimi-K3
};

// The image tower, where its layout is known.
struct VisionDimensions {
  enum class Tower : uint8_t { kNone, kSiglip, kQwen2, kQwen25, kQwen3, kUnknown };
  Tower tower = Tower::kNone;
  int64_t layers = 0;
  int64_t hidden = 0;
  int64_t intermediate = 0;
  int64_t patch = 0;
  int64_t temporal_patch = 1;
  int64_t channels = 3;
  int64_t image_size = 0;
  int64_t positions = 0;
  int64_t merge = 2;  // patches on a side that become one token
  int64_t out = 0;    // width of the language model
  int64_t deepstack = 0;
};

// What the folder's weights are stored as, from quantization_config.
enum class StoredWeights : uint8_t { kFloat, kBlockFp8, kNvfp4, kMxfp4Experts, kOther };

struct ModelDimensions {
  Family family = Family::kLlama;
  std::string architecture_name;  // first of "architectures"; empty when there is none
  std::string model_type;         // of the language model
  int64_t vocab = 0;
  int64_t hidden = 0;
  int64_t intermediate = 0;  // of dense layers
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  int64_t max_positions = 0;  // 0: not said
  bool tied_embeddings = false;
  bool qkv_bias = false;
  bool output_bias = false;  // of the attention's output projection
  bool mlp_bias = false;
  bool qk_norm = false;            // one norm for a head of q and one for a head of k
  bool qk_norm_all_heads = false;  // instead: one norm over all heads together
  int64_t residual_block = 0;      // attention over earlier blocks' residuals (Kimi-K3)
  LatentDimensions latent;
  LinearAttentionDimensions linear;
  MoeDimensions moe;
  int64_t indexer_heads = 0;
  int64_t indexer_dim = 0;
  std::vector<LayerDimensions> layers;
  int64_t mtp_layers = 0;  // multi-token prediction layers behind the last
  VisionDimensions vision;
  bool nested = false;  // the language model is one part of several (text_config)
  StoredWeights stored = StoredWeights::kFloat;
  std::string stored_method;       // quant_method or quant_algo, as written; empty: none
  std::vector<std::string> notes;  // what was assumed, in sentences

  // Throws DataError naming `source` and the field: missing or impossible sizes; parts whose sizes
  // are not known here (state-space layers, per-layer block configurations, ...), with a list of
  // the families that are.
  static ModelDimensions parse(const Json& config, const std::string& source);
};

// Families by the model_type of config.json, for messages: "llama, mistral, qwen2, ...".
std::string known_model_types();
// nullopt: not known.
std::optional<Family> family_of_model_type(std::string_view model_type);
// By an entry of "architectures" ("Qwen3MoeForCausalLM"); nullopt: not known.
std::optional<Family> family_of_architecture(std::string_view architecture);

}  // namespace hone
