// Bytes that one sequence keeps while it is served: keys and values, latents, states.
#pragma once

#include <cstdint>

#include "runtime/model/config/dimensions.h"

namespace hone {

struct CacheOptions {
  int64_t element_bytes = 2;    // of keys, values and latents: 2 BF16, 1 FP8
  int64_t tp = 1;               // GPUs that share the heads of one sequence
  bool mtp = false;             // prediction layers are served too
  bool ignore_windows = false;  // engines that keep every token of layers with a window as well
};

// Bytes on one GPU for a sequence of `tokens` tokens.
//   grouped: 2 * max(1, kv_heads / tp) * head_dim a token, at most `window` tokens
//   latent:  kv_rank + rope a token, not shared between GPUs
//   indexer: indexer_dim FP8 codes and a float32 scale for 128 of them a token, not shared
//   delta:   a float32 state [value_heads, key_dim, value_dim] / tp and the convolution's last
//   inputs
int64_t cache_bytes(const ModelDimensions& dimensions, const CacheOptions& options, int64_t tokens);

// What each further token of a long sequence adds: layers that look back to the beginning.
int64_t cache_bytes_per_token(const ModelDimensions& dimensions, const CacheOptions& options);
// What a sequence keeps at any length: states, and windows once they are full.
int64_t cache_bytes_fixed(const ModelDimensions& dimensions, const CacheOptions& options);

}  // namespace hone
