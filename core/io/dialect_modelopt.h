// Dialect "modelopt": NVFP4 as NVIDIA Model Optimizer exports it.
//
//   X.weight          U8 [N, K/2]        E2M1 pairs, even column in the low nibble
//   X.weight_scale    F8_E4M3 [N, K/16]
//   X.weight_scale_2  F32 scalar         W ~ weight * weight_scale * weight_scale_2
//   X.input_scale     F32 scalar         activations' global scale (W4A4 only)
//
// hf_quant_config.json {producer, quantization {quant_algo NVFP4 | W4A16_NVFP4, group_size,
// kv_cache_quant_algo, exclude_modules}} and the same in config.json's quantization_config.
// exclude_modules is never empty (SGLang refuses that) and holds exact names.
// Source: ModelOpt export/unified_export_hf.py and convert_hf_config.py; vLLM modelopt.py.
#pragma once

#include "core/io/dialect.h"

namespace hone {

class ModelOptDialect : public Dialect {
 public:
  [[nodiscard]] std::string_view name() const override { return "modelopt"; }
  [[nodiscard]] std::optional<std::string> refuses(const QuantizedModule& module) const override;
  [[nodiscard]] bool matches(const Checkpoint& checkpoint) const override;
  [[nodiscard]] std::vector<std::string> modules(const Checkpoint& checkpoint) const override;
  [[nodiscard]] QuantizedTensor read(const Checkpoint& checkpoint, const std::string& module)
      const override;
  [[nodiscard]] std::vector<DialectPart> parts(const QuantizedModule& module) const override;
  [[nodiscard]] Json quantization_config(
      std::span<const QuantizedModule> quantized, std::span<const std::string> unquantized
  ) const override;
  [[nodiscard]] std::vector<std::pair<std::string, Json>> extra_files(
      std::span<const QuantizedModule> quantized, std::span<const std::string> unquantized
  ) const override;
};

}  // namespace hone
