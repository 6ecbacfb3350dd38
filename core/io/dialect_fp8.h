// Dialect "fp8": DeepSeek's block FP8, also written by Qwen, Kimi, GLM and MiniMax, and vLLM's FP8
// with one scale per tensor.
//
//   X.weight            F8_E4M3 [N, K]
//   X.weight_scale_inv  F32 [cdiv(N,128), cdiv(K,128)]    W ~ weight * weight_scale_inv
//
// config.json: quantization_config {quant_method "fp8", fmt "e4m3", activation_scheme "dynamic",
// weight_block_size [128, 128]}, and scale_fmt "ue8m0" when all scales are powers of two. Modules
// that stay as they are are listed under both keys in use: modules_to_not_convert (transformers)
// and ignored_layers (vLLM). Source: DeepSeek-V3 README_WEIGHTS.md; vLLM fp8.py; transformers
// FineGrainedFP8Config.
//
// Without weight_block_size:
//   X.weight        F8_E4M3 [N, K]
//   X.weight_scale  F32 scalar, a multiplier
//   X.input_scale   F32 scalar, a multiplier; activation_scheme "static" only
//
// Read besides: scales in BF16, F16 or F8_E8M0. Source: vLLM fp8.py.
#pragma once

#include "core/io/dialect.h"

namespace hone {

class Fp8Dialect : public Dialect {
 public:
  [[nodiscard]] std::string_view name() const override { return "fp8"; }
  [[nodiscard]] std::optional<std::string> refuses(const QuantizedModule& module) const override;
  [[nodiscard]] bool matches(const Checkpoint& checkpoint) const override;
  [[nodiscard]] std::vector<std::string> modules(const Checkpoint& checkpoint) const override;
  [[nodiscard]] QuantizedTensor read(const Checkpoint& checkpoint, const std::string& module)
      const override;
  // Always kNone: the config has no field for it.
  [[nodiscard]] KvCacheFormat kv_cache(const Checkpoint& checkpoint) const override;
  [[nodiscard]] std::vector<DialectPart> parts(const QuantizedModule& module) const override;
  // UsageError when modules of the two layouts, or of static and dynamic activations, are mixed.
  [[nodiscard]] Json quantization_config(const QuantizedContents& contents) const override;
  [[nodiscard]] std::vector<std::pair<std::string, Json>> extra_files(
      const QuantizedContents& contents
  ) const override;
};

}  // namespace hone
