#include "runtime/model/config/dimensions.h"

#include <algorithm>
#include <span>

#include <fmt/ranges.h>

#include "core/base/error.h"

namespace hone {
namespace {

struct FamilyName {
  std::string_view name;  // model_type, or entry of "architectures"
  Family family;
};

constexpr FamilyName kModelTypes[] = {
    {"deepseek_v2", Family::kDeepSeek},
    {"deepseek_v3", Family::kDeepSeek},
    {"deepseek_v32", Family::kDeepSeekDsa},
    {"deepseek_vl_v2", Family::kDeepSeek},
    {"gemma2", Family::kGemma2},
    {"gemma3", Family::kGemma3},
    {"gemma3_text", Family::kGemma3},
    {"glm4_moe", Family::kGlm4Moe},
    {"glm_moe_dsa", Family::kDeepSeekDsa},
    {"gpt_oss", Family::kGptOss},
    {"granitemoe", Family::kGraniteMoe},
    {"kimi_k2", Family::kDeepSeek},
    {"kimi_linear", Family::kKimiLinear},
    {"llama", Family::kLlama},
    {"llama4", Family::kLlama4},
    {"llama4_text", Family::kLlama4},
    {"llava", Family::kLlama},
    {"mimo", Family::kQwen2},
    {"minimax_m2", Family::kMiniMaxM2},
    {"mistral", Family::kLlama},
    {"mistral4", Family::kDeepSeek},
    {"mixtral", Family::kMixtral},
    {"phi3", Family::kPhi3},
    {"qwen2", Family::kQwen2},
    {"qwen2_5_vl", Family::kQwen2},
    {"qwen2_vl", Family::kQwen2},
    {"qwen3", Family::kQwen3},
    {"qwen3_5_moe_text", Family::kQwen3Next},
    {"qwen3_5_text", Family::kQwen3Next},
    {"qwen3_moe", Family::kQwen3Moe},
    {"qwen3_next", Family::kQwen3Next},
    {"qwen3_vl_moe_text", Family::kQwen3Moe},
    {"qwen3_vl_text", Family::kQwen3},
};

constexpr FamilyName kArchitectures[] = {
    {"DeepseekOCR2ForCausalLM", Family::kDeepSeek},
    {"DeepseekV2ForCausalLM", Family::kDeepSeek},
    {"DeepseekV32ForCausalLM", Family::kDeepSeekDsa},
    {"DeepseekV3ForCausalLM", Family::kDeepSeek},
    {"Gemma2ForCausalLM", Family::kGemma2},
    {"Gemma3ForCausalLM", Family::kGemma3},
    {"Gemma3ForConditionalGeneration", Family::kGemma3},
    {"Glm4MoeForCausalLM", Family::kGlm4Moe},
    {"GlmMoeDsaForCausalLM", Family::kDeepSeekDsa},
    {"GptOssForCausalLM", Family::kGptOss},
    {"GraniteMoeForCausalLM", Family::kGraniteMoe},
    {"KimiK25ForConditionalGeneration", Family::kDeepSeek},
    {"KimiK3ForConditionalGeneration", Family::kKimiLinear},
    {"KimiLinearForCausalLM", Family::kKimiLinear},
    {"Llama4ForConditionalGeneration", Family::kLlama4},
    {"LlamaForCausalLM", Family::kLlama},
    {"LlavaLlamaForCausalLM", Family::kLlama},
    {"MiMoForCausalLM", Family::kQwen2},
    {"MiniMaxM2ForCausalLM", Family::kMiniMaxM2},
    {"Mistral3ForConditionalGeneration", Family::kDeepSeek},
    {"MistralForCausalLM", Family::kLlama},
    {"MixtralForCausalLM", Family::kMixtral},
    {"Phi3ForCausalLM", Family::kPhi3},
    {"Qwen2ForCausalLM", Family::kQwen2},
    {"Qwen2VLForConditionalGeneration", Family::kQwen2},
    {"Qwen2_5_VLForConditionalGeneration", Family::kQwen2},
    {"Qwen3ForCausalLM", Family::kQwen3},
    {"Qwen3MoeForCausalLM", Family::kQwen3Moe},
    {"Qwen3NextForCausalLM", Family::kQwen3Next},
    {"Qwen3VLForConditionalGeneration", Family::kQwen3},
    {"Qwen3VLMoeForConditionalGeneration", Family::kQwen3Moe},
    {"Qwen3_5ForConditionalGeneration", Family::kQwen3Next},
    {"Qwen3_5MoeForConditionalGeneration", Family::kQwen3Next},
};

constexpr std::string_view kFamilyNames[] = {
    "llama",
    "llama4",
    "qwen2",
    "qwen3",
    "qwen3-moe",
    "qwen3-next",
    "mixtral",
    "gemma2",
    "gemma3",
    "phi3",
    "deepseek",
    "deepseek-dsa",
    "kimi-linear",
    "glm4-moe",
    "gpt-oss",
    "minimax-m2",
    "granite-moe",
    "unknown",
};

// Keys of parts whose sizes are not known here. A config that has one is refused, since counting it
// as something else would be wrong without a sign.
constexpr std::string_view kUncounted[] = {
    "block_configs",            // blocks of different widths
    "compress_ratios",          // compressed attention
    "draft_vocab_size",         // a draft head
    "embedding_size",           // Molmo: vocabulary and MLP counted in another way
    "enable_moe_block",         // dense and routed side by side
    "hybrid_layer_pattern",     // attention of two shapes
    "hybrid_override_pattern",  // state-space layers
    "kv_channels",              // first Qwen: an intermediate size that counts twice
    "mamba_d_state",
    "share_expert_dim",
    "sparse_attention_config",
    "ssm_state_size",
};

// No published model comes near. Products of several are bounded again: heads times their width by
// check_widths(), tensors by expected_tensors().
constexpr int64_t kMaxDimension = int64_t{1} << 24;
constexpr int64_t kMaxStateWidth = int64_t{1} << 16;
constexpr int64_t kMaxLayers = 4096;
constexpr int64_t kMaxPatch = 1024;
constexpr int64_t kMaxExperts = 16384;

// Where the keys of the language model stand.
const Json& text_part(const Json& config) {
  for (const std::string_view key : {"text_config", "language_config", "llm_config"}) {
    const auto it = config.find(key);
    if (it != config.end() && it->is_object()) return *it;
  }
  return config;
}

bool has(const Json& object, std::string_view key) {
  const auto it = object.find(key);
  return it != object.end() && !it->is_null();
}

class Parser {
 public:
  Parser(const Json& config, std::string source)
      : root_(config), text_(text_part(config)), source_(std::move(source)) {}

  ModelDimensions run() {
    identify();
    refuse_uncounted();
    read_sizes();
    read_attention();
    read_moe();
    read_layers();
    read_mtp();
    read_vision();
    read_stored();
    check_widths();
    return std::move(d_);
  }

 private:
  int64_t checked(int64_t value, std::string_view key, int64_t low, int64_t high) const {
    require_data(
        value >= low && value <= high,
        "{}: field \"{}\" is {}, expected {} to {}",
        source_,
        key,
        value,
        low,
        high
    );
    return value;
  }
  int64_t size(std::string_view key) const {
    return checked(json_int(text_, key, source_), key, 1, kMaxDimension);
  }
  int64_t size_or(std::string_view key, int64_t otherwise) const {
    return checked(json_int_or(text_, key, otherwise, source_), key, 0, kMaxDimension);
  }
  // The first of several spellings; 0 when there is none.
  int64_t first_of(std::initializer_list<std::string_view> keys) const {
    for (const std::string_view key : keys) {
      if (has(text_, key)) return size_or(key, 0);
    }
    return 0;
  }
  bool flag(std::string_view key, bool otherwise) const {
    return json_bool_or(text_, key, otherwise, source_);
  }
  // A list of `n` entries, or nullptr when the key is missing.
  const Json* list(std::string_view key, int64_t n) const {
    const auto it = text_.find(key);
    if (it == text_.end() || !it->is_array()) return nullptr;
    require_data(
        static_cast<int64_t>(it->size()) >= n,
        "{}: field \"{}\" has {} entries, expected one for each of {} layers",
        source_,
        key,
        it->size(),
        n
    );
    return &*it;
  }
  bool listed(std::string_view key, int64_t value) const {
    const auto it = text_.find(key);
    return it != text_.end() && it->is_array() && std::ranges::find(*it, Json(value)) != it->end();
  }

  void identify() {
    require_data(root_.is_object(), "{}: expected a JSON object", source_);
    const auto names = root_.find("architectures");
    if (names != root_.end() && names->is_array() && !names->empty() && names->front().is_string())
      d_.architecture_name = names->front().get<std::string>();
    d_.nested = &text_ != &root_;
    d_.model_type = json_string_or(text_, "model_type", "", source_);
    if (d_.model_type.empty()) d_.model_type = json_string_or(root_, "model_type", "", source_);
    if (const auto family = family_of_model_type(d_.model_type)) {
      d_.family = *family;
      if (!d_.architecture_name.empty() && !family_of_architecture(d_.architecture_name))
        d_.notes.push_back(fmt::format(
            "architecture \"{}\" is not known: counted as a model of type \"{}\"",
            d_.architecture_name,
            d_.model_type
        ));
    } else if (const auto named = family_of_architecture(d_.architecture_name)) {
      d_.family = *named;
    } else {
      d_.family = Family::kUnknown;
      d_.notes.push_back(fmt::format(
          "model type \"{}\" is not known: counted as if it were Llama (with experts: Mixtral) of "
          "these sizes; known are {}",
          d_.model_type,
          known_model_types()
      ));
    }
  }

  void refuse_uncounted() const {
    for (const std::string_view key : kUncounted) {
      require_data(
          !has(text_, key),
          "{}: model type \"{}\" has \"{}\", a part whose sizes are not known here; known model "
          "types are {}",
          source_,
          d_.model_type,
          key,
          known_model_types()
      );
    }
    require_data(
        has(text_, "hidden_size"),
        "{}: no field \"hidden_size\": this is not the config.json of a language model (only those "
        "can be sized from their config)",
        source_
    );
  }

  void read_sizes() {
    d_.vocab = size("vocab_size");
    d_.hidden = size("hidden_size");
    d_.heads = size("num_attention_heads");
    d_.kv_heads = size_or("num_key_value_heads", d_.heads);
    d_.head_dim = first_of({"head_dim"});
    // Latent attention has head sizes of its own.
    if (d_.head_dim == 0 && !has(text_, "qk_nope_head_dim")) {
      require_data(
          d_.hidden % d_.heads == 0,
          "{}: hidden_size {} is no multiple of num_attention_heads {} and there is no head_dim",
          source_,
          d_.hidden,
          d_.heads
      );
    }
    if (d_.head_dim == 0) d_.head_dim = d_.hidden / d_.heads;
    require_data(
        d_.kv_heads >= 1 && d_.heads % d_.kv_heads == 0,
        "{}: num_attention_heads {} is no multiple of num_key_value_heads {}",
        source_,
        d_.heads,
        d_.kv_heads
    );
    d_.intermediate = first_of({"intermediate_size_mlp", "intermediate_size"});
    d_.max_positions = first_of({"max_position_embeddings"});
    // Gemma ties unless it says otherwise; others say so.
    const bool gemma = d_.family == Family::kGemma2 || d_.family == Family::kGemma3;
    const bool here = json_bool_or(text_, "tie_word_embeddings", gemma, source_);
    d_.tied_embeddings = here || json_bool_or(root_, "tie_word_embeddings", false, source_);
  }

  void read_attention() {
    const bool biased = flag("attention_bias", false);
    d_.qkv_bias = biased;
    d_.output_bias = biased;
    d_.mlp_bias = flag("mlp_bias", false);
    switch (d_.family) {
      case Family::kQwen2:
        d_.qkv_bias = true;
        d_.output_bias = false;
        break;
      case Family::kGlm4Moe:
        d_.output_bias = false;
        d_.qk_norm = flag("use_qk_norm", false);
        break;
      case Family::kQwen3:
      case Family::kQwen3Moe:
      case Family::kQwen3Next:
      case Family::kGemma3:
        d_.qk_norm = true;
        break;
      case Family::kMiniMaxM2:
        d_.qk_norm_all_heads = flag("use_qk_norm", false);
        break;
      case Family::kDeepSeek:
      case Family::kDeepSeekDsa:
      case Family::kKimiLinear:
        read_latent();
        break;
      default:
        break;
    }
    if (d_.family == Family::kQwen3Next) read_delta_net();
    if (d_.family == Family::kKimiLinear) read_kda();
    if (d_.family == Family::kDeepSeekDsa) {
      d_.indexer_heads = size("index_n_heads");
      d_.indexer_dim = size("index_head_dim");
    }
  }

  void read_latent() {
    // DeepSeek-OCR carries plain attention in the same layout.
    if (!flag("use_mla", true)) return;
    LatentDimensions& l = d_.latent;
    l.q_rank = size_or("q_lora_rank", 0);
    l.kv_rank = size("kv_lora_rank");
    l.nope = size("qk_nope_head_dim");
    l.rope = size("qk_rope_head_dim");
    l.value = size("v_head_dim");
    l.output_gate = flag("mla_use_output_gate", false);
  }

  void read_delta_net() {
    LinearAttentionDimensions& l = d_.linear;
    l.key_heads = size("linear_num_key_heads");
    l.value_heads = size("linear_num_value_heads");
    l.key_dim = size("linear_key_head_dim");
    l.value_dim = size("linear_value_head_dim");
    l.kernel = size("linear_conv_kernel_dim");
  }

  void read_kda() {
    const auto it = text_.find("linear_attn_config");
    require_data(
        it != text_.end() && it->is_object(),
        "{}: field \"linear_attn_config\" is missing or no object",
        source_
    );
    const auto field = [&](std::string_view key) {
      return checked(json_int(*it, key, source_), key, 1, kMaxDimension);
    };
    LinearAttentionDimensions& l = d_.linear;
    l.key_heads = l.value_heads = field("num_heads");
    l.key_dim = l.value_dim = field("head_dim");
    l.kernel = field("short_conv_kernel_size");
    l.full_rank_gate = json_bool_or(*it, "use_full_rank_gate", false, source_);
    d_.residual_block = size_or("attn_res_block_size", 0);
  }

  void read_moe() {
    MoeDimensions& m = d_.moe;
    m.experts = first_of({"n_routed_experts", "num_experts", "num_local_experts"});
    if (m.experts == 0) return;
    checked(m.experts, "experts", 1, kMaxExperts);
    m.per_token = first_of({"num_experts_per_tok", "num_experts_per_token", "experts_per_token"});
    checked(m.per_token, "num_experts_per_tok", 1, m.experts);
    m.intermediate = d_.family == Family::kLlama4
                         ? size("intermediate_size")
                         : first_of({"moe_intermediate_size", "intermediate_size"});
    checked(m.intermediate, "moe_intermediate_size", 1, kMaxDimension);
    m.hidden = first_of({"routed_expert_hidden_size"});
    if (m.hidden == 0) m.hidden = d_.hidden;
    m.latent_norm = flag("latent_moe_use_norm", false);
    m.shared = first_of({"shared_expert_intermediate_size"});
    if (m.shared == 0)
      m.shared = first_of({"n_shared_experts", "num_shared_experts"}) * m.intermediate;
    if (d_.family == Family::kLlama4) m.shared = m.intermediate;
    m.correction_bias = d_.family == Family::kGlm4Moe || d_.family == Family::kKimiLinear ||
                        d_.family == Family::kDeepSeekDsa ||
                        json_string_or(text_, "topk_method", "", source_) == "noaux_tc" ||
                        flag("use_routing_bias", false);
  }

  bool is_moe(int64_t layer) const {
    if (d_.moe.experts == 0) return false;
    const auto types = text_.find("mlp_layer_types");
    if (types != text_.end() && types->is_array() && layer < static_cast<int64_t>(types->size()))
      return (*types)[static_cast<size_t>(layer)] != "dense";
    if (layer < size_or("first_k_dense_replace", 0) || listed("mlp_only_layers", layer))
      return false;
    if (has(text_, "interleave_moe_layer_step")) {
      const int64_t step = std::max<int64_t>(1, size_or("interleave_moe_layer_step", 1));
      return (layer + 1) % step == 0;
    }
    if (has(text_, "decoder_sparse_step")) {
      const int64_t step = std::max<int64_t>(1, size_or("decoder_sparse_step", 1));
      return (layer + 1) % step == 0;
    }
    if (has(text_, "moe_layer_freq"))
      return layer % std::max<int64_t>(1, size_or("moe_layer_freq", 1)) == 0;
    return true;
  }

  // How far attention of a layer looks back; 0: to the beginning.
  int64_t window_of(int64_t layer, const Json* types) const {
    if (d_.family == Family::kLlama4) {
      // Every fourth layer has no rotary embedding and sees everything; the others stay in chunks.
      return (layer + 1) % 4 == 0 ? 0 : size_or("attention_chunk_size", 0);
    }
    const int64_t window = size_or("sliding_window", 0);
    if (window == 0) return 0;
    if (types != nullptr)
      return (*types)[static_cast<size_t>(layer)] == "sliding_attention" ? window : 0;
    switch (d_.family) {
      case Family::kGemma2:
        return layer % 2 == 0 ? window : 0;
      case Family::kGemma3: {
        const int64_t pattern = std::max<int64_t>(1, size_or("sliding_window_pattern", 6));
        return (layer + 1) % pattern == 0 ? 0 : window;
      }
      default:
        break;
    }
    if (has(text_, "use_sliding_window")) {
      if (!flag("use_sliding_window", false)) return 0;
      return layer < size_or("max_window_layers", 0) ? 0 : window;
    }
    return window;
  }

  AttentionKind attention_of(int64_t layer, const Json* types) const {
    const AttentionKind kFull =
        d_.latent.kv_rank > 0 ? AttentionKind::kLatent : AttentionKind::kGrouped;
    if (d_.family == Family::kKimiLinear) {
      const Json& config = text_.at("linear_attn_config");
      const auto kda = config.find("kda_layers");
      require_data(
          kda != config.end() && kda->is_array(),
          "{}: linear_attn_config has no list \"kda_layers\"",
          source_
      );
      // Layers are counted from 1 there.
      const bool linear = std::ranges::find(*kda, Json(layer + 1)) != kda->end();
      return linear ? AttentionKind::kKda : kFull;
    }
    if (d_.family != Family::kQwen3Next) return kFull;
    if (types != nullptr)
      return (*types)[static_cast<size_t>(layer)] == "linear_attention" ? AttentionKind::kDeltaNet
                                                                        : kFull;
    const int64_t interval = std::max<int64_t>(1, size_or("full_attention_interval", 4));
    return (layer + 1) % interval == 0 ? kFull : AttentionKind::kDeltaNet;
  }

  void read_layers() {
    const int64_t n =
        checked(json_int(text_, "num_hidden_layers", source_), "num_hidden_layers", 1, kMaxLayers);
    const Json* types = list("layer_types", n);
    const Json* indexers = list("indexer_types", n);
    bool dense = false;
    for (int64_t i = 0; i < n; ++i) {
      LayerDimensions layer;
      layer.attention = attention_of(i, types);
      if (layer.attention == AttentionKind::kGrouped) layer.window = window_of(i, types);
      layer.moe = is_moe(i);
      layer.indexer = d_.indexer_dim > 0 &&
                      (indexers == nullptr || (*indexers)[static_cast<size_t>(i)] != "shared");
      dense = dense || !layer.moe;
      d_.layers.push_back(layer);
    }
    require_data(
        !dense || d_.intermediate > 0,
        "{}: field \"intermediate_size\" is missing; expected the width of the MLP",
        source_
    );
  }

  void read_mtp() {
    d_.mtp_layers = first_of({"num_nextn_predict_layers", "mtp_num_hidden_layers"});
    if (d_.mtp_layers > 0 && d_.family == Family::kQwen2) {
      d_.notes.push_back("the prediction layers (num_nextn_predict_layers) are not counted");
      d_.mtp_layers = 0;
    }
    checked(d_.mtp_layers, "num_nextn_predict_layers", 0, 64);
  }

  void read_vision() {
    const auto it = root_.find("vision_config");
    if (it == root_.end() || !it->is_object()) return;
    VisionDimensions& v = d_.vision;
    v.tower = VisionDimensions::Tower::kUnknown;
    const std::string type = json_string_or(root_, "model_type", "", source_);
    const std::string tower = json_string_or(*it, "model_type", "", source_);
    const auto number = [&](std::string_view key, int64_t otherwise, int64_t most = kMaxDimension) {
      return checked(json_int_or(*it, key, otherwise, source_), key, 0, most);
    };
    v.hidden = number("hidden_size", 0);
    v.intermediate = number("intermediate_size", 0);
    v.patch = number("patch_size", 14, kMaxPatch);
    v.temporal_patch = number("temporal_patch_size", 1, kMaxPatch);
    v.merge = number("spatial_merge_size", 2, kMaxPatch);
    v.out = d_.hidden;
    if (tower == "siglip_vision_model" && d_.family == Family::kGemma3) {
      v.tower = VisionDimensions::Tower::kSiglip;
      v.layers = number("num_hidden_layers", 0, kMaxLayers);
      v.image_size = number("image_size", 0);
    } else if (type == "qwen2_vl") {
      v.tower = VisionDimensions::Tower::kQwen2;
      v.layers = number("depth", 0, kMaxLayers);
      v.hidden = number("embed_dim", 0);
      v.intermediate = v.hidden * number("mlp_ratio", 4, kMaxPatch);
    } else if (type == "qwen2_5_vl") {
      v.tower = VisionDimensions::Tower::kQwen25;
      v.layers = number("depth", 0, kMaxLayers);
    } else if (type.starts_with("qwen3_vl") || type.starts_with("qwen3_5")) {
      v.tower = VisionDimensions::Tower::kQwen3;
      v.layers = number("depth", 0, kMaxLayers);
      v.positions = number("num_position_embeddings", 0);
      const auto deep = it->find("deepstack_visual_indexes");
      if (deep != it->end() && deep->is_array()) v.deepstack = static_cast<int64_t>(deep->size());
    }
    if (v.tower == VisionDimensions::Tower::kUnknown)
      d_.notes.push_back("the vision tower is not counted: its layout is not known here");
  }

  void read_stored() {
    const Json* q = nullptr;
    for (const Json* part : {&root_, &text_}) {
      const auto it = part->find("quantization_config");
      if (q == nullptr && it != part->end() && it->is_object()) q = &*it;
    }
    if (q == nullptr) return;
    d_.stored_method = json_string_or(*q, "quant_method", "", source_);
    if (d_.stored_method.empty()) d_.stored_method = json_string_or(*q, "quant_algo", "", source_);
    const std::string algorithm = json_string_or(*q, "quant_algo", "", source_);
    const std::string format = json_string_or(*q, "format", "", source_);
    if (d_.stored_method == "fp8" && has(*q, "weight_block_size")) {
      d_.stored = StoredWeights::kBlockFp8;
    } else if (algorithm == "NVFP4" || format == "nvfp4-pack-quantized") {
      d_.stored = StoredWeights::kNvfp4;
    } else if (d_.stored_method == "mxfp4" || (format == "mxfp4-pack-quantized" && d_.moe.experts > 0)) {
      d_.stored = StoredWeights::kMxfp4Experts;  // GPT-OSS; Kimi-K3 ignores everything else there
    } else {
      d_.stored = StoredWeights::kOther;
    }
  }

  // What heads of all kinds make together.
  void check_widths() const {
    const LatentDimensions& latent = d_.latent;
    const LinearAttentionDimensions& linear = d_.linear;
    const int64_t widths[] = {
        d_.heads * d_.head_dim,
        d_.heads * (latent.nope + latent.rope),
        d_.heads * (latent.nope + latent.value),
        linear.key_heads * linear.key_dim,
        linear.value_heads * linear.value_dim,
        d_.indexer_heads * d_.indexer_dim,
        d_.moe.per_token * d_.moe.intermediate};
    for (const int64_t width : widths) checked(width, "heads times head size", 0, kMaxDimension);
    checked(linear.key_dim, "key head size of linear attention", 0, kMaxStateWidth);
    checked(linear.value_dim, "value head size of linear attention", 0, kMaxStateWidth);
  }

  const Json& root_;
  const Json& text_;
  std::string source_;
  ModelDimensions d_;
};

std::optional<Family> look_up(std::span<const FamilyName> table, std::string_view name) {
  const auto it = std::ranges::find(table, name, &FamilyName::name);
  if (it == table.end()) return std::nullopt;
  return it->family;
}

}  // namespace

std::string_view family_name(Family family) {
  return kFamilyNames[static_cast<size_t>(family)];
}

std::string known_model_types() {
  std::vector<std::string_view> names;
  for (const FamilyName& known : kModelTypes) names.push_back(known.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::optional<Family> family_of_model_type(std::string_view model_type) {
  return look_up(kModelTypes, model_type);
}

std::optional<Family> family_of_architecture(std::string_view architecture) {
  return look_up(kArchitectures, architecture);
}

ModelDimensions ModelDimensions::parse(const Json& config, const std::string& source) {
  require_data(config.is_object(), "{}: expected a JSON object", source);
  return Parser(config, source).run();
}

}  // namespace hone
