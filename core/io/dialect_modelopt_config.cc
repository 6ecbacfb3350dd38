#include "core/io/dialect_modelopt_config.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "core/base/error.h"
#include "core/format/block_fp8.h"
#include "core/format/mx.h"
#include "core/format/nvfp4.h"
#include "core/io/dialect_parts.h"

namespace hone {
namespace {

constexpr std::string_view kMixed = "MIXED_PRECISION";

struct NamedScheme {
  std::string_view algo;
  ModelOptScheme scheme;
  int64_t group_size;  // 0: the field is not written
};

constexpr NamedScheme kSchemes[] = {
    {"FP8", {Format::kFp8Tensor, ActivationRule::kFp8Tensor}, 0},
    {"FP8_PER_CHANNEL_PER_TOKEN", {Format::kFp8Channel, ActivationRule::kFp8Token}, 0},
    {"FP8_PB_WO", {Format::kBlockFp8, ActivationRule::kNone}, 0},
    {"NVFP4", {Format::kNvfp4, ActivationRule::kNvfp4}, kNvfp4Block},
    {"W4A16_NVFP4", {Format::kNvfp4, ActivationRule::kNone}, kNvfp4Block},
    {"MXFP8", {Format::kMxfp8, ActivationRule::kMxfp8}, kMxBlock},
};

bool same_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) {
    return std::toupper(x) == std::toupper(y);
  });
}

const NamedScheme* named(const ModelOptScheme& scheme) {
  const auto* found = std::ranges::find(kSchemes, scheme, &NamedScheme::scheme);
  return found == std::end(kSchemes) ? nullptr : found;
}

std::string known_algos() {
  std::string text(kMixed);
  for (const NamedScheme& scheme : kSchemes) text += ", " + std::string(scheme.algo);
  return text;
}

// ---- reading

// hf_quant_config.json's "quantization"; null without the file.
Json quantization_of_file(const Checkpoint& checkpoint) {
  const auto path = checkpoint.folder() / kModelOptConfigFile;
  if (!std::filesystem::exists(path)) return nullptr;
  const Json document = read_json_file(path);
  const auto found = document.is_object() ? document.find("quantization") : document.end();
  require_data(
      found != document.end() && found->is_object(),
      "{}: \"quantization\" must be an object",
      path.string()
  );
  return *found;
}

// config.json's section when it is one of ModelOpt; nullptr otherwise. Versions before 0.33 left
// quant_method out.
const Json* modelopt_section_of(const Checkpoint& checkpoint) {
  const Json* section = quantization_section(checkpoint);
  if (section == nullptr) return nullptr;
  const auto method = section->find("quant_method");
  if (method == section->end()) return section->contains("quant_algo") ? section : nullptr;
  return text_field(*section, "quant_method").starts_with("modelopt") ? section : nullptr;
}

ModelOptScheme parse_scheme(const Json& object, const std::string& source) {
  const std::string algo = json_string(object, "quant_algo", source);
  const std::optional<ModelOptScheme> scheme = parse_modelopt_algo(algo);
  if (!scheme) {
    throw DataError(fmt::format(
        "{}: quant_algo \"{}\" is not read by this version; known are {}",
        source,
        algo,
        known_algos()
    ));
  }
  const int64_t expected = named(*scheme)->group_size;
  const int64_t group_size = json_int_or(object, "group_size", expected, source);
  require_data(
      expected == 0 || group_size == expected,
      "{}: group_size {} is not read for {}; expected {}",
      source,
      group_size,
      algo,
      expected
  );
  return *scheme;
}

// "FP8" or {"num_bits": 8, "type": "float", ...}.
KvCacheFormat parse_kv_cache(const Json& object, const char* key, const std::string& source) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return KvCacheFormat::kNone;
  if (found->is_string()) {
    const auto algo = found->get<std::string>();
    if (algo.empty() || algo == "auto") return KvCacheFormat::kNone;
    if (algo == "FP8") return KvCacheFormat::kFp8;
    if (algo == "NVFP4") return KvCacheFormat::kNvfp4;
  }
  if (found->is_object() && json_string_or(*found, "type", "", source) == "float") {
    const int64_t bits = json_int_or(*found, "num_bits", 0, source);
    if (bits == 8) return KvCacheFormat::kFp8;
    if (bits == 4) return KvCacheFormat::kNvfp4;
  }
  throw DataError(fmt::format(
      "{}: {} {} is not read by this version; known are FP8 and NVFP4",
      source,
      key,
      dump_json(*found)
  ));
}

void add_layers(const Json& object, const std::string& source, ModelOptConfig& config) {
  const auto layers = object.find("quantized_layers");
  if (layers == object.end() || layers->is_null()) return;
  require_data(layers->is_object(), "{}: quantized_layers must be an object", source);
  for (const auto& [module, layer] : layers->items()) {
    const std::string where = fmt::format("{}: quantized_layers.{}", source, module);
    require_data(layer.is_object(), "{}: expected an object, found {}", where, dump_json(layer));
    config.layers[module] = parse_scheme(layer, where);
  }
}

// ---- writing

Json producer() {
  return {{"name", "modelopt"}, {"version", "0.47.0"}};
}

ModelOptScheme scheme_of(const QuantizedModule& module) {
  return {module.format, module.activation};
}

const NamedScheme& named_scheme(const QuantizedModule& module) {
  const NamedScheme* found = named(scheme_of(module));
  require(
      found != nullptr,
      "{}: ModelOpt has no quant_algo for {} weights with {} activations",
      module.module,
      format_name(module.format),
      activation_rule_name(module.activation)
  );
  return *found;
}

// nullptr: mixed.
const NamedScheme* one_scheme(const QuantizedContents& contents) {
  require(!contents.quantized.empty(), "modelopt: no module is quantized");
  const NamedScheme* first = &named_scheme(contents.quantized.front());
  const bool same = std::ranges::all_of(contents.quantized, [&](const QuantizedModule& module) {
    return &named_scheme(module) == first;
  });
  return same ? first : nullptr;
}

Json layer_json(const NamedScheme& scheme) {
  Json json = {{"quant_algo", scheme.algo}};
  if (scheme.group_size > 0) json["group_size"] = scheme.group_size;
  return json;
}

Json quantized_layers(const QuantizedContents& contents) {
  Json layers = Json::object();
  // Straight to the end: insertion by key looks at every earlier one, and experts are many.
  Json::object_t& object = layers.get_ref<Json::object_t&>();
  for (const QuantizedModule& module : contents.quantized)
    object.emplace_back(module.module, layer_json(named_scheme(module)));
  return layers;
}

// Never empty: SGLang refuses that. Where nothing is left out, a module that no engine quantizes
// (or has) stands in.
std::vector<std::string> excluded(const QuantizedContents& contents) {
  std::vector<std::string> names(contents.unquantized.begin(), contents.unquantized.end());
  if (!names.empty()) return names;
  const bool head = std::ranges::any_of(contents.quantized, [](const QuantizedModule& module) {
    return module.module == "lm_head";
  });
  names.emplace_back(head ? "model.embed_tokens" : "lm_head");
  return names;
}

Json arguments(int64_t bits, int64_t group_size) {
  Json json = {{"dynamic", false}, {"num_bits", bits}, {"type", "float"}};
  if (group_size > 0) json["group_size"] = group_size;
  return json;
}

Json group_json(const NamedScheme& scheme, const Json& targets) {
  const int64_t bits = scheme.scheme.format == Format::kNvfp4 ? 4 : 8;
  Json group = Json::object();
  if (scheme.scheme.activation != ActivationRule::kNone)
    group["input_activations"] = arguments(bits, scheme.group_size);
  group["weights"] = arguments(bits, scheme.group_size);
  if (scheme.scheme.format == Format::kFp8Channel) group["weights"]["strategy"] = "channel";
  if (scheme.scheme.format == Format::kBlockFp8) {
    group["weights"]["strategy"] = "block";
    group["weights"]["block_structure"] = {kFp8Block, kFp8Block};
  }
  group["targets"] = targets;
  return group;
}

Json config_groups(const QuantizedContents& contents) {
  if (const NamedScheme* scheme = one_scheme(contents))
    return {{"group_0", group_json(*scheme, Json({"Linear"}))}};
  std::vector<const NamedScheme*> order;
  std::map<const NamedScheme*, std::vector<std::string>> modules;
  for (const QuantizedModule& module : contents.quantized) {
    const NamedScheme* scheme = &named_scheme(module);
    if (!modules.contains(scheme)) order.push_back(scheme);
    modules[scheme].push_back(module.module);
  }
  Json groups = Json::object();
  for (size_t i = 0; i < order.size(); ++i) {
    std::vector<std::string>& names = modules[order[i]];
    std::ranges::sort(names);
    groups["group_" + std::to_string(i)] = group_json(*order[i], Json(names));
  }
  return groups;
}

}  // namespace

std::optional<std::string_view> modelopt_algo(const ModelOptScheme& scheme) {
  const NamedScheme* found = named(scheme);
  if (found == nullptr) return std::nullopt;
  return found->algo;
}

std::optional<ModelOptScheme> parse_modelopt_algo(std::string_view algo) {
  // An earlier name in composed checkpoints, read by vLLM as well.
  if (same_ignoring_case(algo, "FP8_BLOCK_SCALES")) algo = "FP8_PB_WO";
  for (const NamedScheme& scheme : kSchemes) {
    if (same_ignoring_case(algo, scheme.algo)) return scheme.scheme;
  }
  return std::nullopt;
}

std::optional<ModelOptScheme> ModelOptConfig::scheme_of(const std::string& module) const {
  if (scheme) return scheme;
  for (std::string name = module;;) {
    if (const auto found = layers.find(name); found != layers.end()) return found->second;
    const size_t dot = name.rfind('.');
    if (dot == std::string::npos) return std::nullopt;
    name.resize(dot);
  }
}

bool has_modelopt_config(const Checkpoint& checkpoint) {
  if (quantization_section(checkpoint) != nullptr)
    return modelopt_section_of(checkpoint) != nullptr;
  return quantization_of_file(checkpoint).is_object();
}

ModelOptConfig read_modelopt_config(const Checkpoint& checkpoint) {
  const std::string file_source = (checkpoint.folder() / kModelOptConfigFile).string();
  const Json* section = modelopt_section_of(checkpoint);
  const Json file = quantization_of_file(checkpoint);
  const std::string source = section != nullptr ? config_source(checkpoint) : file_source;
  const Json& main = section != nullptr ? *section : file;
  ModelOptConfig config;
  config.algo = json_string(main, "quant_algo", source);
  if (section != nullptr && file.is_object()) {
    const std::string other = json_string_or(file, "quant_algo", "", file_source);
    require_data(
        other.empty() || other == config.algo,
        "{}: config.json says quant_algo \"{}\", {} says \"{}\"; engines read either",
        checkpoint.folder().string(),
        config.algo,
        kModelOptConfigFile,
        other
    );
  }
  if (config.algo == kMixed) {
    add_layers(main, source, config);
    if (config.layers.empty() && file.is_object()) add_layers(file, file_source, config);
    require_data(
        !config.layers.empty(), "{}: quant_algo {} without quantized_layers", source, kMixed
    );
  } else {
    config.scheme = parse_scheme(main, source);
  }
  if (file.is_object()) config.kv_cache = parse_kv_cache(file, "kv_cache_quant_algo", file_source);
  if (section != nullptr && config.kv_cache == KvCacheFormat::kNone)
    config.kv_cache = parse_kv_cache(*section, "kv_cache_scheme", source);
  return config;
}

Json modelopt_section(const QuantizedContents& contents) {
  const NamedScheme* scheme = one_scheme(contents);
  Json config = Json::object();
  config["config_groups"] = config_groups(contents);
  if (scheme == nullptr) config["quantized_layers"] = quantized_layers(contents);
  config["ignore"] = excluded(contents);
  config["quant_algo"] = scheme == nullptr ? kMixed : scheme->algo;
  if (contents.kv_cache == KvCacheFormat::kFp8) config["kv_cache_scheme"] = arguments(8, 0);
  if (contents.kv_cache == KvCacheFormat::kNvfp4) config["kv_cache_scheme"] = "NVFP4";
  config["producer"] = producer();
  config["quant_method"] = "modelopt";
  return config;
}

Json modelopt_file(const QuantizedContents& contents) {
  const NamedScheme* scheme = one_scheme(contents);
  Json quantization = Json::object();
  quantization["quant_algo"] = scheme == nullptr ? kMixed : scheme->algo;
  quantization["kv_cache_quant_algo"] = nullptr;
  if (contents.kv_cache == KvCacheFormat::kFp8) quantization["kv_cache_quant_algo"] = "FP8";
  if (contents.kv_cache == KvCacheFormat::kNvfp4) quantization["kv_cache_quant_algo"] = "NVFP4";
  if (scheme != nullptr && scheme->group_size > 0) quantization["group_size"] = scheme->group_size;
  quantization["exclude_modules"] = excluded(contents);
  if (scheme == nullptr) quantization["quantized_layers"] = quantized_layers(contents);
  return {{"producer", producer()}, {"quantization", quantization}};
}

}  // namespace hone
