// Dialect "modelopt": what NVIDIA Model Optimizer exports.
//
//   NVFP4, W4A16_NVFP4:
//     X.weight          U8 [N, K/2]        E2M1 pairs, even column in the low nibble
//     X.weight_scale    F8_E4M3 [N, K/16]
//     X.weight_scale_2  F32 scalar         W ~ weight * weight_scale * weight_scale_2
//     X.input_scale     F32 scalar         activations' global scale (NVFP4 only)
//   FP8, FP8_PER_CHANNEL_PER_TOKEN, FP8_PB_WO, MXFP8:
//     X.weight          F8_E4M3 [N, K]
//     X.weight_scale    F32 scalar; F32 [N]; F32 [N/128, 1, K/128, 1]; U8 [N, K/32] (exponents)
//     X.input_scale     F32 scalar         FP8 only
//   MIXED_PRECISION: any of these, each module named in quantized_layers.
//
// All scalars are multipliers. The config is described in dialect_modelopt_config.h.
// Source: ModelOpt export/unified_export_hf.py and quant_utils.py; vLLM modelopt.py.
#pragma once

#include "core/io/dialect.h"

namespace hone {

class ModelOptDialect : public Dialect {
 public:
  [[nodiscard]] std::string_view name() const override { return "modelopt"; }
  [[nodiscard]] std::optional<std::string> refuses(const QuantizedModule& module) const override;
  [[nodiscard]] bool matches(const Checkpoint& checkpoint) const override;
  // Also throws DataError for a quant_algo that is not read, and for a module that is stored
  // quantized although quantized_layers does not name it.
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
