#include "core/io/dialect.h"

#include <array>

#include "core/base/error.h"
#include "core/io/dialect_compressed_tensors.h"
#include "core/io/dialect_fp8.h"
#include "core/io/dialect_gpt_oss.h"
#include "core/io/dialect_modelopt.h"
#include "core/io/dialect_parts.h"

namespace hone {

std::span<const Dialect* const> dialects() {
  static const Fp8Dialect fp8;
  static const CompressedTensorsDialect compressed_tensors;
  static const ModelOptDialect modelopt;
  static const GptOssDialect gpt_oss;
  static const std::array<const Dialect*, 4> all{&fp8, &compressed_tensors, &modelopt, &gpt_oss};
  return all;
}

const Dialect& dialect_by_name(std::string_view name) {
  std::string known;
  for (const Dialect* dialect : dialects()) {
    if (dialect->name() == name) return *dialect;
    known += (known.empty() ? "" : ", ") + std::string(dialect->name());
  }
  throw UsageError(fmt::format("unknown dialect \"{}\"; known: {}", name, known));
}

const Dialect* detect_dialect(const Checkpoint& checkpoint) {
  for (const Dialect* dialect : dialects()) {
    if (dialect->matches(checkpoint)) return dialect;
  }
  const Json* section = quantization_section(checkpoint);
  Json found;
  if (section != nullptr) {
    found = {
        {"quant_method", text_field(*section, "quant_method")},
        {"quant_algo", text_field(*section, "quant_algo")}};
  } else {
    const auto config = checkpoint.config().find("quantization_config");
    if (config == checkpoint.config().end() || config->is_null()) return nullptr;
    found = *config;
  }
  throw DataError(fmt::format(
      "{}: quantization_config {} is not read by this version; known are quant_method fp8, "
      "compressed-tensors, modelopt and mxfp4 (fp8 with a quant_algo mixes two of them)",
      config_source(checkpoint),
      dump_json(found)
  ));
}

}  // namespace hone
