#include "core/io/dialect.h"

#include <array>

#include "core/base/error.h"
#include "core/io/dialect_fp8.h"
#include "core/io/dialect_modelopt.h"
#include "core/io/dialect_parts.h"

namespace hone {

std::span<const Dialect* const> dialects() {
  static const ModelOptDialect modelopt;
  static const Fp8Dialect fp8;
  static const std::array<const Dialect*, 2> all{&fp8, &modelopt};
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
  auto config = checkpoint.config().find("quantization_config");
  if (config == checkpoint.config().end() || config->is_null()) return nullptr;
  const Json found = config->is_object()
                         ? Json{{"quant_method", text_field(*config, "quant_method")},
                                {"quant_algo", text_field(*config, "quant_algo")}}
                         : *config;
  throw DataError(fmt::format(
      "{}: quantization_config {} is not read by this version; known are quant_method fp8 with "
      "weight_block_size [128, 128], and modelopt with quant_algo NVFP4 or W4A16_NVFP4",
      (checkpoint.folder() / "config.json").string(),
      dump_json(found)
  ));
}

}  // namespace hone
