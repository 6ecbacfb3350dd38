// Sizes and tensors of an EAGLE-3 draft head (Li et al., arXiv 2503.01840).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/json/json.h"
#include "core/tensor/dtype.h"
#include "core/tensor/tensor.h"
#include "runtime/model/config.h"

namespace hone {

// One decoder layer between the target's features and a small vocabulary.
struct Eagle3Config {
  int64_t hidden = 0;
  int64_t target_hidden = 0;
  int64_t intermediate = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  int64_t vocab = 0;        // of the target
  int64_t draft_vocab = 0;  // equal to vocab: no map is stored
  int64_t max_positions = 0;
  double rms_eps = 1e-5;
  RopeConfig rope;
  // Target layers whose outputs are the features, 0-based and ascending: tap i is the residual
  // stream after decoder layer taps[i].
  std::vector<int64_t> taps;
  DType dtype = DType::kBF16;  // of the stored weights

  [[nodiscard]] int64_t feature_width() const {
    return static_cast<int64_t>(taps.size()) * target_hidden;
  }
  // Throws UsageError naming the field: sizes that do not divide, taps that are not ascending,
  // below 0, or reach the last of `target_layers` layers (engines refuse it: what follows the last
  // layer is no input of another).
  void validate(int64_t target_layers) const;
};

// The taps of a target of `layers` layers: published EAGLE-3 heads read the outputs of layers 1,
// L/2 - 1 and L - 4; below 8 layers, where these collide, the first, the middle one and the last
// but one. UsageError below 4 layers.
std::vector<int64_t> default_eagle3_taps(int64_t layers);

// A head for `target` with its attention geometry, feed-forward width and numerics.
Eagle3Config eagle3_config_for(
    const ModelConfig& target, std::vector<int64_t> taps, int64_t draft_vocab
);

// All weights of a head, as tensors, tape variables or anything else.
template <typename V>
struct Eagle3Parameters {
  V fc;           // [hidden, taps * target_hidden]
  V input_norm;   // [hidden], of the token embedding
  V hidden_norm;  // [hidden], of the feature
  V q;            // [heads * head_dim, 2 * hidden]
  V k;            // [kv_heads * head_dim, 2 * hidden]
  V v;            // [kv_heads * head_dim, 2 * hidden]
  V o;            // [hidden, heads * head_dim]
  V post_norm;    // [hidden]
  V gate;         // [intermediate, hidden]
  V up;           // [intermediate, hidden]
  V down;         // [hidden, intermediate]
  V norm;         // [hidden]
  V lm_head;      // [draft_vocab, hidden]
};

inline constexpr size_t kEagle3ParameterCount = 13;

// Pointers to the members in the order of eagle3_tensors().
template <typename P>
auto eagle3_members(P& p) {
  return std::array<decltype(&p.fc), kEagle3ParameterCount>{
      &p.fc,
      &p.input_norm,
      &p.hidden_norm,
      &p.q,
      &p.k,
      &p.v,
      &p.o,
      &p.post_norm,
      &p.gate,
      &p.up,
      &p.down,
      &p.norm,
      &p.lm_head};
}

// Names and shapes on disk (SafeAILab, SpecForge and SGLang), in the order of the members.
struct Eagle3Tensor {
  std::string name;
  Shape shape;
};
std::vector<Eagle3Tensor> eagle3_tensors(const Eagle3Config& config);

}  // namespace hone
