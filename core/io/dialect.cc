#include "core/io/dialect.h"

#include <array>

#include "core/base/error.h"
#include "core/io/dialect_fp8.h"
#include "core/io/dialect_modelopt.h"

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
  throw DataError(fmt::format(
      "{}: quantization_config with quant_method {} is not read by this version; known dialects "
      "are fp8 (block) and modelopt (NVFP4)",
      (checkpoint.folder() / "config.json").string(),
      dump_json(config->is_object() ? config->value("quant_method", Json()) : *config)
  ));
}

}  // namespace hone
