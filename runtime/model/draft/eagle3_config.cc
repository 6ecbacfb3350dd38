#include "runtime/model/draft/eagle3_config.h"

#include <utility>

#include <fmt/ranges.h>

namespace hone {

void Eagle3Config::validate(int64_t target_layers) const {
  require(
      hidden > 0 && intermediate > 0, "draft head: hidden and intermediate size must be positive"
  );
  require(
      heads > 0 && kv_heads > 0 && heads % kv_heads == 0,
      "draft head: {} attention heads do not divide into {} key/value heads",
      heads,
      kv_heads
  );
  require(head_dim > 0 && head_dim % 2 == 0, "draft head: head_dim {} is not even", head_dim);
  require(
      draft_vocab > 0 && draft_vocab <= vocab,
      "draft head: draft_vocab {} is not in [1, {}], the target's vocabulary",
      draft_vocab,
      vocab
  );
  require(!taps.empty(), "draft head: no taps");
  for (size_t i = 0; i < taps.size(); ++i) {
    require(
        taps[i] >= 0 && taps[i] < target_layers - 1,
        "draft head: tap {} is not in [0, {}]; a head never reads the last layer (layers of the "
        "target: {})",
        taps[i],
        target_layers - 2,
        target_layers
    );
    require(
        i == 0 || taps[i - 1] < taps[i],
        "draft head: taps {} are not ascending",
        fmt::join(taps, ",")
    );
  }
}

std::vector<int64_t> default_eagle3_taps(int64_t layers) {
  require(
      layers >= 4,
      "a target of {} layers has no three layers to tap besides its last; name them with --taps",
      layers
  );
  if (layers >= 8) return {1, layers / 2 - 1, layers - 4};
  return {0, (layers - 2) / 2, layers - 2};
}

Eagle3Config eagle3_config_for(
    const ModelConfig& target, std::vector<int64_t> taps, int64_t draft_vocab
) {
  Eagle3Config config;
  config.hidden = target.hidden;
  config.target_hidden = target.hidden;
  config.intermediate = target.intermediate;
  config.heads = target.heads;
  config.kv_heads = target.kv_heads;
  config.head_dim = target.head_dim;
  config.vocab = target.vocab;
  config.draft_vocab = draft_vocab;
  config.max_positions = target.max_positions;
  config.rms_eps = target.rms_eps;
  config.rope = target.rope;
  config.taps = std::move(taps);
  return config;
}

std::vector<Eagle3Tensor> eagle3_tensors(const Eagle3Config& c) {
  const int64_t q = c.heads * c.head_dim;
  const int64_t kv = c.kv_heads * c.head_dim;
  return {
      {"fc.weight", {c.hidden, c.feature_width()}},
      {"midlayer.input_layernorm.weight", {c.hidden}},
      {"midlayer.hidden_norm.weight", {c.hidden}},
      {"midlayer.self_attn.q_proj.weight", {q, 2 * c.hidden}},
      {"midlayer.self_attn.k_proj.weight", {kv, 2 * c.hidden}},
      {"midlayer.self_attn.v_proj.weight", {kv, 2 * c.hidden}},
      {"midlayer.self_attn.o_proj.weight", {c.hidden, q}},
      {"midlayer.post_attention_layernorm.weight", {c.hidden}},
      {"midlayer.mlp.gate_proj.weight", {c.intermediate, c.hidden}},
      {"midlayer.mlp.up_proj.weight", {c.intermediate, c.hidden}},
      {"midlayer.mlp.down_proj.weight", {c.hidden, c.intermediate}},
      {"norm.weight", {c.hidden}},
      {"lm_head.weight", {c.draft_vocab, c.hidden}},
  };
}

}  // namespace hone
