// Dialect "compressed-tensors": what llm-compressor writes and vLLM reads.
//
//   float-quantized, naive-quantized (weights only), mxfp8-quantized:
//     X.weight         F8_E4M3 [N, K]
//     X.weight_scale   F32 [1] (tensor), [N, 1] (channel), [cdiv(N,128), cdiv(K,128)] (block), all
//                      multipliers; U8 [N, K/32], exponents (MXFP8)
//     X.input_scale    F32 [1], static activations only, a multiplier
//   nvfp4-pack-quantized, mxfp4-pack-quantized:
//     X.weight_packed        U8 [N, K/2]       E2M1 pairs, even column in the low nibble
//     X.weight_scale         F8_E4M3 [N, K/16] (NVFP4), U8 [N, K/32] (MXFP4)
//     X.weight_global_scale  F32 [1], NVFP4    W ~ weight_packed * weight_scale /
//     weight_global_scale X.input_global_scale   F32 [1], NVFP4 with activations: a divisor too
//
// The library itself stores float scales in the model's dtype (BF16); engines load them into F32.
// The config is described in dialect_compressed_tensors_config.h. Source: compressed-tensors
// compressors/, quantization/lifecycle/initialize.py; vLLM compressed_tensors schemes.
#pragma once

#include "core/io/dialect.h"

namespace hone {

class CompressedTensorsDialect : public Dialect {
 public:
  [[nodiscard]] std::string_view name() const override { return "compressed-tensors"; }
  [[nodiscard]] std::optional<std::string> refuses(const QuantizedModule& module) const override;
  [[nodiscard]] bool matches(const Checkpoint& checkpoint) const override;
  // Also throws DataError for a module that is stored quantized although no group claims it, or
  // whose tensors contradict every group that does.
  [[nodiscard]] std::vector<std::string> modules(const Checkpoint& checkpoint) const override;
  [[nodiscard]] QuantizedTensor read(const Checkpoint& checkpoint, const std::string& module)
      const override;
  [[nodiscard]] KvCacheFormat kv_cache(const Checkpoint& checkpoint) const override;
  [[nodiscard]] std::vector<DialectPart> parts(const QuantizedModule& module) const override;
  [[nodiscard]] Json quantization_config(const QuantizedContents& contents) const override;
  [[nodiscard]] std::vector<std::pair<std::string, Json>> extra_files(
      const QuantizedContents& contents
  ) const override;
};

}  // namespace hone
