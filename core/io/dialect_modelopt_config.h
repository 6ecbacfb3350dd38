// The two configs of ModelOpt: hf_quant_config.json, and its copy in config.json. Internal to
// core/io.
//
//   hf_quant_config.json {producer, quantization {quant_algo, kv_cache_quant_algo, group_size,
//     exclude_modules, quantized_layers {module: {quant_algo, group_size}}}}
//   config.json quantization_config {config_groups, ignore, quant_algo, kv_cache_scheme, producer,
//     quant_method "modelopt", quantized_layers}
//
// exclude_modules is never empty (SGLang refuses that) and holds exact names. Source: ModelOpt
// export/convert_hf_config.py; vLLM and SGLang modelopt readers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/io/dialect.h"

namespace hone {

inline constexpr const char* kModelOptConfigFile = "hf_quant_config.json";

struct ModelOptScheme {
  Format format = Format::kNvfp4;
  ActivationRule activation = ActivationRule::kNvfp4;
  bool operator==(const ModelOptScheme&) const = default;
};

// "NVFP4"; nullopt when ModelOpt has no name for it. The inverse ignores case and knows
// "FP8_BLOCK_SCALES" as FP8_PB_WO.
std::optional<std::string_view> modelopt_algo(const ModelOptScheme& scheme);
std::optional<ModelOptScheme> parse_modelopt_algo(std::string_view algo);

struct ModelOptConfig {
  std::string algo;                      // of the whole folder; "MIXED_PRECISION" with `layers`
  std::optional<ModelOptScheme> scheme;  // of every quantized module, when it is one
  std::unordered_map<std::string, ModelOptScheme> layers;
  KvCacheFormat kv_cache = KvCacheFormat::kNone;

  // Of a module that is stored quantized: its own entry of quantized_layers, or that of a module
  // above it (fused experts are one entry). nullopt when it has none.
  [[nodiscard]] std::optional<ModelOptScheme> scheme_of(const std::string& module) const;
};

// Does the folder have a config of ModelOpt, readable or not? It may stand in the separate file
// only, or in config.json without a quant_method. Throws DataError for a broken file.
bool has_modelopt_config(const Checkpoint& checkpoint);

// Throws DataError naming file and field: an unknown algorithm or group size, or files that
// contradict each other. REQUIRES: has_modelopt_config.
ModelOptConfig read_modelopt_config(const Checkpoint& checkpoint);

// For config.json and for hf_quant_config.json. UsageError for modules without an algorithm.
Json modelopt_section(const QuantizedContents& contents);
Json modelopt_file(const QuantizedContents& contents);

}  // namespace hone
