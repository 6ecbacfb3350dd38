#include "runtime/model/schema/tensors.h"

#include <functional>
#include <numeric>

#include "core/base/error.h"

namespace hone {
namespace {

// Where the language model's tensors stand.
struct Prefixes {
  std::string model = "model.";
  std::string head = "lm_head";
};

Prefixes prefixes_of(const ModelDimensions& d) {
  const bool conditional = d.architecture_name.ends_with("ForConditionalGeneration");
  switch (d.family) {
    case Family::kQwen3:
    case Family::kQwen3Moe:
    case Family::kQwen3Next:
      return conditional ? Prefixes{"model.language_model.", "lm_head"} : Prefixes{};
    case Family::kQwen2:
      return {};
    default:
      return conditional ? Prefixes{"language_model.model.", "language_model.lm_head"} : Prefixes{};
  }
}

class Builder {
 public:
  explicit Builder(const ModelDimensions& d) : d_(d), prefixes_(prefixes_of(d)) {}

  std::vector<ExpectedTensor> run() {
    const auto n = static_cast<int64_t>(d_.layers.size());
    add(prefixes_.model + "embed_tokens.weight", {d_.vocab, d_.hidden}, Role::kEmbedding);
    for (int64_t i = 0; i < n; ++i) {
      layer_ = i;
      add_layer(fmt::format("{}layers.{}.", prefixes_.model, i), d_.layers[static_cast<size_t>(i)]);
    }
    layer_ = -1;
    add(prefixes_.model + "norm.weight", {d_.hidden}, Role::kNorm);
    if (d_.residual_block > 0) {
      add(prefixes_.model + "output_attn_res_norm.weight", {d_.hidden}, Role::kNorm);
      add(prefixes_.model + "output_attn_res_proj.weight", {1, d_.hidden}, Role::kResidual);
    }
    if (!d_.tied_embeddings) add(prefixes_.head + ".weight", {d_.vocab, d_.hidden}, Role::kLmHead);
    add_mtp(n);
    add_vision_tensors(d_.vision, tensors_);
    return std::move(tensors_);
  }

 private:
  ExpectedTensor& add(std::string name, std::vector<int64_t> shape, Role role) {
    ExpectedTensor& t = tensors_.emplace_back();
    t.name = std::move(name);
    t.shape = std::move(shape);
    t.role = role;
    t.layer = layer_;
    t.mtp = mtp_;
    return t;
  }
  void linear(const std::string& module, int64_t out, int64_t in, Role role, bool bias = false) {
    add(module + ".weight", {out, in}, role);
    if (bias) add(module + ".bias", {out}, role);
  }

  void add_layer(const std::string& p, const LayerDimensions& layer) {
    switch (layer.attention) {
      case AttentionKind::kGrouped:
        add_grouped(p + "self_attn.");
        break;
      case AttentionKind::kLatent:
        add_latent(p + "self_attn.");
        break;
      case AttentionKind::kDeltaNet:
        add_delta_net(p + "linear_attn.");
        break;
      case AttentionKind::kKda:
        add_kda(p + "self_attn.");
        break;
    }
    if (layer.indexer) add_indexer(p + "self_attn.indexer.");
    if (layer.moe) {
      add_moe(p);
    } else {
      add_dense(p + (d_.family == Family::kLlama4 ? "feed_forward." : "mlp."));
    }
    add(p + "input_layernorm.weight", {d_.hidden}, Role::kNorm);
    add(p + "post_attention_layernorm.weight", {d_.hidden}, Role::kNorm);
    if (d_.family == Family::kGemma2 || d_.family == Family::kGemma3) {
      add(p + "pre_feedforward_layernorm.weight", {d_.hidden}, Role::kNorm);
      add(p + "post_feedforward_layernorm.weight", {d_.hidden}, Role::kNorm);
    }
    if (d_.residual_block > 0) {
      for (const char* part : {"self_attention", "mlp"}) {
        add(fmt::format("{}{}_res_norm.weight", p, part), {d_.hidden}, Role::kNorm);
        add(fmt::format("{}{}_res_proj.weight", p, part), {1, d_.hidden}, Role::kResidual);
      }
    }
  }

  void add_grouped(const std::string& p) {
    const int64_t q = d_.heads * d_.head_dim;
    const int64_t kv = d_.kv_heads * d_.head_dim;
    if (d_.family == Family::kPhi3) {
      linear(p + "qkv_proj", q + 2 * kv, d_.hidden, Role::kAttnQkv, d_.qkv_bias);
    } else {
      // Gated attention stores the gate's rows with the queries'.
      const int64_t gated = d_.family == Family::kQwen3Next ? 2 : 1;
      linear(p + "q_proj", gated * q, d_.hidden, Role::kAttnQ, d_.qkv_bias);
      linear(p + "k_proj", kv, d_.hidden, Role::kAttnK, d_.qkv_bias);
      linear(p + "v_proj", kv, d_.hidden, Role::kAttnV, d_.qkv_bias);
    }
    linear(p + "o_proj", d_.hidden, q, Role::kAttnO, d_.output_bias);
    if (d_.qk_norm || d_.qk_norm_all_heads) {
      add(p + "q_norm.weight", {d_.qk_norm ? d_.head_dim : q}, Role::kNorm);
      add(p + "k_norm.weight", {d_.qk_norm ? d_.head_dim : kv}, Role::kNorm);
    }
    if (d_.family == Family::kGptOss) add(p + "sinks", {d_.heads}, Role::kAttnSinks);
  }

  void add_latent(const std::string& p) {
    const LatentDimensions& l = d_.latent;
    const int64_t q = d_.heads * (l.nope + l.rope);
    const int64_t value = d_.heads * l.value;
    if (l.q_rank > 0) {
      linear(p + "q_a_proj", l.q_rank, d_.hidden, Role::kAttnQA, d_.qkv_bias);
      add(p + "q_a_layernorm.weight", {l.q_rank}, Role::kNorm);
      linear(p + "q_b_proj", q, l.q_rank, Role::kAttnQB);
    } else {
      linear(p + "q_proj", q, d_.hidden, Role::kAttnQ);
    }
    linear(p + "kv_a_proj_with_mqa", l.kv_rank + l.rope, d_.hidden, Role::kAttnKvA, d_.qkv_bias);
    add(p + "kv_a_layernorm.weight", {l.kv_rank}, Role::kNorm);
    linear(p + "kv_b_proj", d_.heads * (l.nope + l.value), l.kv_rank, Role::kAttnKvB);
    linear(p + "o_proj", d_.hidden, value, Role::kAttnO, d_.output_bias);
    if (l.output_gate) linear(p + "g_proj", value, d_.hidden, Role::kAttnGate);
  }

  void add_indexer(const std::string& p) {
    linear(p + "wq_b", d_.indexer_heads * d_.indexer_dim, d_.latent.q_rank, Role::kAttnIndexer);
    linear(p + "wk", d_.indexer_dim, d_.hidden, Role::kAttnIndexer);
    add(p + "k_norm.weight", {d_.indexer_dim}, Role::kNorm);
    add(p + "k_norm.bias", {d_.indexer_dim}, Role::kNorm);
    linear(p + "weights_proj", d_.indexer_heads, d_.hidden, Role::kAttnIndexer);
  }

  void add_delta_net(const std::string& p) {
    const LinearAttentionDimensions& l = d_.linear;
    const int64_t k = l.key_heads * l.key_dim;
    const int64_t v = l.value_heads * l.value_dim;
    const Role role = Role::kLinearAttn;
    if (d_.model_type.starts_with("qwen3_5")) {
      linear(p + "in_proj_qkv", 2 * k + v, d_.hidden, role);
      linear(p + "in_proj_z", v, d_.hidden, role);
      linear(p + "in_proj_a", l.value_heads, d_.hidden, role);
      linear(p + "in_proj_b", l.value_heads, d_.hidden, role);
    } else {
      linear(p + "in_proj_qkvz", 2 * k + 2 * v, d_.hidden, role);
      linear(p + "in_proj_ba", 2 * l.value_heads, d_.hidden, role);
    }
    add(p + "conv1d.weight", {2 * k + v, 1, l.kernel}, role);
    add(p + "A_log", {l.value_heads}, role);
    add(p + "dt_bias", {l.value_heads}, role);
    add(p + "norm.weight", {l.value_dim}, Role::kNorm);
    linear(p + "out_proj", d_.hidden, v, role);
  }

  void add_kda(const std::string& p) {
    const LinearAttentionDimensions& l = d_.linear;
    const int64_t width = l.key_heads * l.key_dim;
    const Role role = Role::kLinearAttn;
    linear(p + "q_proj", width, d_.hidden, Role::kAttnQ);
    linear(p + "k_proj", width, d_.hidden, Role::kAttnK);
    linear(p + "v_proj", width, d_.hidden, Role::kAttnV);
    for (const char* part : {"q", "k", "v"}) {
      add(fmt::format("{}{}_conv1d.weight", p, part), {width, 1, l.kernel}, role).f32 = true;
    }
    // The published file pads it from heads to the head's width.
    add(p + "A_log", {l.key_dim}, role).f32 = true;
    add(p + "dt_bias", {width}, role).f32 = true;
    linear(p + "f_a_proj", l.key_dim, d_.hidden, role);
    linear(p + "f_b_proj", width, l.key_dim, role);
    linear(p + "b_proj", l.key_heads, d_.hidden, role);
    if (l.full_rank_gate) {
      linear(p + "g_proj", width, d_.hidden, Role::kAttnGate);
    } else {
      linear(p + "g_a_proj", l.key_dim, d_.hidden, role);
      linear(p + "g_b_proj", width, l.key_dim, role);
    }
    add(p + "o_norm.weight", {l.key_dim}, Role::kNorm);
    linear(p + "o_proj", d_.hidden, width, Role::kAttnO);
  }

  void add_dense(const std::string& p) {
    if (d_.family == Family::kPhi3) {
      linear(p + "gate_up_proj", 2 * d_.intermediate, d_.hidden, Role::kMlpGateUp, d_.mlp_bias);
      linear(p + "down_proj", d_.hidden, d_.intermediate, Role::kMlpDown, d_.mlp_bias);
      return;
    }
    add_gated(p, d_.intermediate, d_.mlp_bias);
  }
  void add_gated(const std::string& p, int64_t width, bool bias) {
    linear(p + "gate_proj", width, d_.hidden, Role::kMlpGate, bias);
    linear(p + "up_proj", width, d_.hidden, Role::kMlpUp, bias);
    linear(p + "down_proj", d_.hidden, width, Role::kMlpDown, bias);
  }

  // "model.layers.3." -> routers, shared and routed experts.
  void add_moe(const std::string& layer) {
    const MoeDimensions& m = d_.moe;
    const bool block = d_.family == Family::kMixtral || d_.family == Family::kMiniMaxM2 ||
                       d_.family == Family::kGraniteMoe || d_.family == Family::kKimiLinear ||
                       d_.family == Family::kUnknown;
    const std::string p = layer + (block                          ? "block_sparse_moe."
                                   : d_.family == Family::kLlama4 ? "feed_forward."
                                                                  : "mlp.");
    const std::string router = d_.family == Family::kGraniteMoe ? "router.layer"
                               : d_.family == Family::kLlama4 || d_.family == Family::kGptOss
                                   ? "router"
                                   : "gate";
    linear(p + router, m.experts, d_.hidden, Role::kMoeRouter, d_.family == Family::kGptOss);
    if (m.correction_bias) {
      const std::string owner = d_.family == Family::kMiniMaxM2 ? "" : "gate.";
      add(p + owner + "e_score_correction_bias", {m.experts}, Role::kMoeRouter).f32 = true;
    }
    if (m.hidden != d_.hidden) {
      linear(p + "routed_expert_down_proj", m.hidden, d_.hidden, Role::kMoeLatent);
      linear(p + "routed_expert_up_proj", d_.hidden, m.hidden, Role::kMoeLatent);
      if (m.latent_norm) add(p + "routed_expert_norm.weight", {m.hidden}, Role::kNorm);
    }
    add_experts(p);
    if (m.shared == 0) return;
    const bool qwen = d_.family == Family::kQwen3Next;
    const bool one = qwen || d_.family == Family::kLlama4;
    add_gated(p + (one ? "shared_expert." : "shared_experts."), m.shared, false);
    if (qwen) linear(p + "shared_expert_gate", 1, d_.hidden, Role::kMoeRouter);
  }

  void expert(std::string name, std::vector<int64_t> shape, Role role, ExpertLayout layout) {
    ExpectedTensor& t = add(std::move(name), std::move(shape), role);
    t.layout = layout;
    t.experts = d_.moe.experts;
  }

  void add_experts(const std::string& p) {
    const MoeDimensions& m = d_.moe;
    const std::vector<int64_t> in{m.intermediate, m.hidden};
    const std::vector<int64_t> fused{2 * m.intermediate, m.hidden};
    const std::vector<int64_t> out{m.hidden, m.intermediate};
    const auto pair = [&](const char* gate_up, const char* down, ExpertLayout layout) {
      expert(p + gate_up, fused, Role::kMoeGateUp, layout);
      expert(p + down, out, Role::kMoeDown, layout);
    };
    const auto triple = [&](const char* gate, const char* up, const char* down) {
      expert(p + "experts.{}." + gate, in, Role::kMoeGate, ExpertLayout::kPerExpert);
      expert(p + "experts.{}." + up, in, Role::kMoeUp, ExpertLayout::kPerExpert);
      expert(p + "experts.{}." + down, out, Role::kMoeDown, ExpertLayout::kPerExpert);
    };
    switch (d_.family) {
      case Family::kGptOss:
        pair("experts.gate_up_proj", "experts.down_proj", ExpertLayout::kFusedInOut);
        expert(
            p + "experts.gate_up_proj_bias",
            {2 * m.intermediate},
            Role::kMoeGateUp,
            ExpertLayout::kFused
        );
        expert(p + "experts.down_proj_bias", {m.hidden}, Role::kMoeDown, ExpertLayout::kFused);
        return;
      case Family::kLlama4:
        pair("experts.gate_up_proj", "experts.down_proj", ExpertLayout::kFusedInOut);
        return;
      case Family::kGraniteMoe:
        pair("input_linear.weight", "output_linear.weight", ExpertLayout::kFused);
        return;
      case Family::kMixtral:
      case Family::kMiniMaxM2:
      case Family::kKimiLinear:
      case Family::kUnknown:
        triple("w1.weight", "w3.weight", "w2.weight");
        return;
      case Family::kQwen3Moe:
      case Family::kQwen3Next:
        // The vision variants store one tensor for all experts, Qwen3-VL with the axes swapped.
        if (d_.nested) {
          pair(
              "experts.gate_up_proj",
              "experts.down_proj",
              d_.family == Family::kQwen3Moe ? ExpertLayout::kFusedInOut : ExpertLayout::kFused
          );
          return;
        }
        break;
      default:
        break;
    }
    triple("gate_proj.weight", "up_proj.weight", "down_proj.weight");
  }

  void add_mtp(int64_t n) {
    mtp_ = true;
    for (int64_t i = 0; i < d_.mtp_layers; ++i) {
      LayerDimensions last = d_.layers.back();
      layer_ = n + i;
      if (d_.family == Family::kQwen3Next) {
        last.attention = AttentionKind::kGrouped;
        layer_ = -1;
        if (i == 0) {
          linear("mtp.fc", d_.hidden, 2 * d_.hidden, Role::kMtp);
          for (const char* norm : {"norm", "pre_fc_norm_embedding", "pre_fc_norm_hidden"}) {
            add(fmt::format("mtp.{}.weight", norm), {d_.hidden}, Role::kNorm);
          }
        }
        add_layer(fmt::format("mtp.layers.{}.", i), last);
        continue;
      }
      const std::string p = fmt::format("{}layers.{}.", prefixes_.model, n + i);
      last.indexer = d_.indexer_dim > 0;
      add(p + "embed_tokens.weight", {d_.vocab, d_.hidden}, Role::kEmbedding);
      add(p + "enorm.weight", {d_.hidden}, Role::kNorm);
      add(p + "hnorm.weight", {d_.hidden}, Role::kNorm);
      linear(p + "eh_proj", d_.hidden, 2 * d_.hidden, Role::kMtp);
      add_layer(p, last);
      add(p + "shared_head.norm.weight", {d_.hidden}, Role::kNorm);
      add(p + "shared_head.head.weight", {d_.vocab, d_.hidden}, Role::kLmHead);
    }
    mtp_ = false;
    layer_ = -1;
  }

  const ModelDimensions& d_;
  Prefixes prefixes_;
  std::vector<ExpectedTensor> tensors_;
  int64_t layer_ = -1;
  bool mtp_ = false;
};

}  // namespace

int64_t ExpectedTensor::numel() const {
  return std::accumulate(shape.begin(), shape.end(), experts, std::multiplies<>());
}

std::vector<std::string> ExpectedTensor::names() const {
  if (layout != ExpertLayout::kPerExpert) return {name};
  const size_t at = name.find("{}");
  check(at != std::string::npos, "{} has no place for the number of the expert", name);
  std::vector<std::string> all;
  for (int64_t i = 0; i < experts; ++i) {
    all.push_back(name.substr(0, at) + std::to_string(i) + name.substr(at + 2));
  }
  return all;
}

std::vector<int64_t> ExpectedTensor::stored_shape() const {
  if (layout == ExpertLayout::kNone || layout == ExpertLayout::kPerExpert) return shape;
  std::vector<int64_t> stored = shape;
  if (layout == ExpertLayout::kFusedInOut && stored.size() == 2) std::swap(stored[0], stored[1]);
  stored.insert(stored.begin(), experts);
  return stored;
}

std::vector<ExpectedTensor> expected_tensors(const ModelDimensions& dimensions) {
  std::vector<ExpectedTensor> tensors = Builder(dimensions).run();
  constexpr double kMaxElements = 4398046511104.0;  // 2^42
  for (const ExpectedTensor& t : tensors) {
    auto elements = static_cast<double>(t.experts);
    for (const int64_t dim : t.shape) elements *= static_cast<double>(dim);
    require_data(
        elements <= kMaxElements,
        "{} would have {:.3g} elements; expected at most 2^42: the sizes in config.json are wrong",
        t.name,
        elements
    );
  }
  return tensors;
}

}  // namespace hone
