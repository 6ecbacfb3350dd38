// Dialect "mxfp4": GPT-OSS, whose experts are stored fused. Read only.
//
//   X_blocks  U8 [E, N, K/32, 16]  E2M1 pairs, even column in the low nibble
//   X_scales  U8 [E, N, K/32]      exponents: W ~ e2m1(code) * 2^(scale - 127)
//
// X is "...mlp.experts.gate_up_proj" or "...down_proj"; config.json says quant_method "mxfp4". One
// module is the whole stack: rows = E * N, expert e in rows [e * N, (e + 1) * N). Rows of
// gate_up_proj alternate (gate, up); taking experts and halves apart is the schema's business.
// Source: openai/gpt-oss gpt_oss/torch/weights.py; transformers Mxfp4Config.
#pragma once

#include "core/io/dialect.h"

namespace hone {

class GptOssDialect : public Dialect {
 public:
  [[nodiscard]] std::string_view name() const override { return "mxfp4"; }
  // Always: nothing is written in this dialect.
  [[nodiscard]] std::optional<std::string> refuses(const QuantizedModule& module) const override;
  [[nodiscard]] bool matches(const Checkpoint& checkpoint) const override;
  [[nodiscard]] std::vector<std::string> modules(const Checkpoint& checkpoint) const override;
  [[nodiscard]] QuantizedTensor read(const Checkpoint& checkpoint, const std::string& module)
      const override;
  [[nodiscard]] KvCacheFormat kv_cache(const Checkpoint& checkpoint) const override;
  // Names and dtypes; shapes are those of a single expert, E = 1.
  [[nodiscard]] std::vector<DialectPart> parts(const QuantizedModule& module) const override;
  // Both throw UsageError.
  [[nodiscard]] Json quantization_config(const QuantizedContents& contents) const override;
  [[nodiscard]] std::vector<std::pair<std::string, Json>> extra_files(
      const QuantizedContents& contents
  ) const override;
};

}  // namespace hone
