#include "quant/fit/cache.h"

#include <algorithm>
#include <limits>

namespace hone {
namespace {

constexpr int64_t kStateBytes = 4;  // states are kept in float32
constexpr int64_t kConvBytes = 2;
constexpr int64_t kScaleBlock = 128;
constexpr int64_t kScaleBytes = 4;

int64_t share(int64_t n, int64_t parts) {
  return (n + parts - 1) / parts;
}

// Bytes a token of one layer; 0 for layers that keep a state.
int64_t token_bytes(const ModelDimensions& d, const LayerDimensions& layer, const CacheOptions& o) {
  int64_t bytes = 0;
  if (layer.attention == AttentionKind::kGrouped)
    bytes = 2 * std::max<int64_t>(1, share(d.kv_heads, o.tp)) * d.head_dim * o.element_bytes;
  if (layer.attention == AttentionKind::kLatent)
    bytes = (d.latent.kv_rank + d.latent.rope) * o.element_bytes;
  if (layer.indexer) bytes += d.indexer_dim + kScaleBytes * share(d.indexer_dim, kScaleBlock);
  return bytes;
}

int64_t state_bytes(const ModelDimensions& d, const LayerDimensions& layer, const CacheOptions& o) {
  if (layer.attention != AttentionKind::kDeltaNet && layer.attention != AttentionKind::kKda)
    return 0;
  const LinearAttentionDimensions& l = d.linear;
  const int64_t channels = 2 * l.key_heads * l.key_dim + l.value_heads * l.value_dim;
  return share(l.value_heads, o.tp) * l.key_dim * l.value_dim * kStateBytes +
         share(channels, o.tp) * (l.kernel - 1) * kConvBytes;
}

bool windowed(const LayerDimensions& layer, const CacheOptions& o) {
  return layer.window > 0 && !o.ignore_windows;
}

std::vector<LayerDimensions> served_layers(const ModelDimensions& d, const CacheOptions& o) {
  std::vector<LayerDimensions> layers = d.layers;
  if (!o.mtp) return layers;
  LayerDimensions last = d.layers.back();
  if (last.attention == AttentionKind::kDeltaNet) last.attention = AttentionKind::kGrouped;
  layers.insert(layers.end(), static_cast<size_t>(d.mtp_layers), last);
  return layers;
}

}  // namespace

int64_t cache_bytes(const ModelDimensions& d, const CacheOptions& o, int64_t tokens) {
  int64_t bytes = 0;
  for (const LayerDimensions& layer : served_layers(d, o)) {
    const int64_t kept = windowed(layer, o) ? std::min(tokens, layer.window) : tokens;
    bytes += kept * token_bytes(d, layer, o) + state_bytes(d, layer, o);
  }
  return bytes;
}

int64_t cache_bytes_per_token(const ModelDimensions& d, const CacheOptions& o) {
  int64_t bytes = 0;
  for (const LayerDimensions& layer : served_layers(d, o)) {
    if (!windowed(layer, o)) bytes += token_bytes(d, layer, o);
  }
  return bytes;
}

int64_t cache_bytes_fixed(const ModelDimensions& d, const CacheOptions& o) {
  int64_t bytes = 0;
  for (const LayerDimensions& layer : served_layers(d, o)) {
    bytes += state_bytes(d, layer, o);
    if (windowed(layer, o)) bytes += layer.window * token_bytes(d, layer, o);
  }
  return bytes;
}

}  // namespace hone
