#include "core/io/dialect_compressed_tensors_config.h"

#include <algorithm>
#include <map>

#include "core/base/error.h"
#include "core/format/block_fp8.h"
#include "core/format/mx.h"
#include "core/format/nvfp4.h"
#include "core/io/dialect_parts.h"
#include "core/json/ecma_regex.h"

namespace hone {

struct CtTargets::Expressions {
  std::vector<std::unique_ptr<EcmaRegex>> list;
};

namespace {

// The release whose files these are.
constexpr std::string_view kVersion = "0.20.1";
constexpr std::string_view kExpression = "re:";
constexpr std::string_view kMixed = "mixed-precision";
constexpr const char* kE4m3Dtype = "torch.float8_e4m3fn";
constexpr const char* kE8m0Dtype = "torch.uint8";

// ---- reading

// The fields of "quantization arguments" that decide what the bytes are.
struct Arguments {
  int64_t bits = 8;
  std::string type;
  std::string strategy;
  int64_t group_size = 0;
  std::string dynamic;  // "false", "true", "local"
  std::vector<int64_t> block;
  bool symmetric = true;
  Json json;
};

std::string default_strategy(int64_t group_size) {
  if (group_size > 0) return "group";
  return group_size < 0 ? "channel" : "tensor";
}

// "128x128" in old files, [128, 128] in new ones.
std::vector<int64_t> block_structure(const Json& value) {
  if (value.is_string() && value.get<std::string>() == "128x128") return {kFp8Block, kFp8Block};
  std::vector<int64_t> sizes;
  if (!value.is_array()) return sizes;
  for (const Json& size : value)
    sizes.push_back(size.is_number_integer() ? size.get<int64_t>() : 0);
  return sizes;
}

Arguments parse_arguments(const Json& json, const std::string& source) {
  require_data(json.is_object(), "{}: expected an object, found {}", source, dump_json(json));
  Arguments arguments;
  arguments.json = json;
  arguments.bits = json_int_or(json, "num_bits", 8, source);
  arguments.type = json_string_or(json, "type", "int", source);
  arguments.group_size = json_int_or(json, "group_size", 0, source);
  arguments.strategy =
      json_string_or(json, "strategy", default_strategy(arguments.group_size), source);
  arguments.symmetric = json_bool_or(json, "symmetric", true, source);
  if (const auto block = json.find("block_structure"); block != json.end())
    arguments.block = block_structure(*block);
  const auto dynamic = json.find("dynamic");
  arguments.dynamic = "false";
  if (dynamic != json.end() && dynamic->is_boolean() && dynamic->get<bool>())
    arguments.dynamic = "true";
  if (dynamic != json.end() && dynamic->is_string())
    arguments.dynamic = dynamic->get<std::string>();
  return arguments;
}

std::optional<Format> weight_format(const Arguments& a) {
  if (a.type != "float" || !a.symmetric || a.dynamic != "false") return std::nullopt;
  if (a.bits == 8) {
    if (a.strategy == "tensor") return Format::kFp8Tensor;
    if (a.strategy == "channel") return Format::kFp8Channel;
    if (a.strategy == "block" && a.block == std::vector<int64_t>{kFp8Block, kFp8Block})
      return Format::kBlockFp8;
    if (a.strategy == "group" && a.group_size == kMxBlock) return Format::kMxfp8;
  }
  if (a.bits == 4) {
    if (a.strategy == "tensor_group" && a.group_size == kNvfp4Block) return Format::kNvfp4;
    if (a.strategy == "group" && a.group_size == kMxBlock) return Format::kMxfp4;
  }
  return std::nullopt;
}

std::optional<ActivationRule> activation_rule(const Arguments& a) {
  if (a.type != "float" || !a.symmetric) return std::nullopt;
  if (a.bits == 8) {
    if (a.strategy == "tensor" && a.dynamic == "false") return ActivationRule::kFp8Tensor;
    if (a.strategy == "token" && a.dynamic == "true") return ActivationRule::kFp8Token;
    if (a.strategy == "group" && a.dynamic == "true" && a.group_size == kFp8Block)
      return ActivationRule::kFp8Group128;
    if (a.strategy == "group" && a.dynamic == "true" && a.group_size == kMxBlock)
      return ActivationRule::kMxfp8;
  }
  if (a.bits == 4) {
    if (a.strategy == "tensor_group" && a.dynamic == "local" && a.group_size == kNvfp4Block)
      return ActivationRule::kNvfp4;
    if (a.strategy == "group" && a.dynamic == "true" && a.group_size == kMxBlock)
      return ActivationRule::kMxfp4;
  }
  return std::nullopt;
}

// A section that must be absent, null or empty.
void refuse_section(const Json& object, const char* key, const std::string& source) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null() || found->empty()) return;
  // The library writes the section of a model that is not sparse, too.
  if (found->is_object() && text_field(*found, "format") == "dense") return;
  throw DataError(fmt::format(
      "{}: {} {} changes what the weights mean and is not read by this version",
      source,
      key,
      dump_json(*found)
  ));
}

std::vector<std::string> string_list(
    const Json& object, const char* key, const std::string& source
) {
  std::vector<std::string> names;
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return names;
  require_data(found->is_array(), "{}: \"{}\" must be a list of names", source, key);
  for (const Json& name : *found) {
    require_data(name.is_string(), "{}: \"{}\" holds {}", source, key, dump_json(name));
    names.push_back(name.get<std::string>());
  }
  return names;
}

CtGroup parse_group(const std::string& name, const Json& json, const std::string& source) {
  const Arguments weights = parse_arguments(json.at("weights"), source + ".weights");
  const std::optional<Format> format = weight_format(weights);
  if (!format) {
    throw DataError(fmt::format(
        "{}.weights: {} is not read by this version; known are symmetric floats: 8 bits with "
        "strategy tensor, channel, block [128, 128] or group of 32, 4 bits with tensor_group of 16 "
        "or group of 32",
        source,
        dump_json(weights.json)
    ));
  }
  ActivationRule activation = ActivationRule::kNone;
  const auto inputs = json.find("input_activations");
  if (inputs != json.end() && !inputs->is_null()) {
    const Arguments arguments = parse_arguments(*inputs, source + ".input_activations");
    const std::optional<ActivationRule> rule = activation_rule(arguments);
    if (!rule) {
      throw DataError(fmt::format(
          "{}.input_activations: {} is not read by this version; known are symmetric floats: 8 "
          "bits per token, in groups of 128 or 32 (dynamic) or per tensor (static), 4 bits in "
          "groups of 16 (local) or 32 (dynamic)",
          source,
          dump_json(arguments.json)
      ));
    }
    activation = *rule;
  }
  refuse_section(json, "output_activations", source);
  return {name, CtTargets(string_list(json, "targets", source), source), *format, activation};
}

KvCacheFormat parse_kv_cache(const Json& section, const std::string& source) {
  const auto found = section.find("kv_cache_scheme");
  if (found == section.end() || found->is_null()) return KvCacheFormat::kNone;
  const Arguments arguments = parse_arguments(*found, source + ": kv_cache_scheme");
  require_data(
      arguments.bits == 8 && arguments.type == "float",
      "{}: kv_cache_scheme {} is not read by this version; known are 8-bit floats",
      source,
      dump_json(*found)
  );
  return KvCacheFormat::kFp8;
}

// ---- writing

// Keys in the order of the library's own files.
Json arguments_json(
    int64_t bits, std::string_view strategy, const Json& dynamic, const Json& group_size
) {
  Json json = Json::object();
  json["num_bits"] = bits;
  json["type"] = "float";
  json["symmetric"] = true;
  json["strategy"] = strategy;
  json["group_size"] = group_size;
  json["dynamic"] = dynamic;
  return json;
}

Json with_scale_dtype(Json json, const char* dtype) {
  json["scale_dtype"] = dtype;
  return json;
}

Json weight_arguments(Format format) {
  switch (format) {
    case Format::kBlockFp8: {
      Json json = arguments_json(8, "block", false, nullptr);
      json["block_structure"] = {kFp8Block, kFp8Block};
      return json;
    }
    case Format::kFp8Channel:
      return arguments_json(8, "channel", false, nullptr);
    case Format::kFp8Tensor:
      return arguments_json(8, "tensor", false, nullptr);
    case Format::kNvfp4:
      return with_scale_dtype(arguments_json(4, "tensor_group", false, kNvfp4Block), kE4m3Dtype);
    case Format::kMxfp4:
      return with_scale_dtype(arguments_json(4, "group", false, kMxBlock), kE8m0Dtype);
    case Format::kMxfp8:
      return with_scale_dtype(arguments_json(8, "group", false, kMxBlock), kE8m0Dtype);
  }
  throw InternalError("unknown format");
}

Json activation_arguments(ActivationRule rule) {
  switch (rule) {
    case ActivationRule::kNone:
      return nullptr;
    case ActivationRule::kFp8Token:
      return arguments_json(8, "token", true, nullptr);
    case ActivationRule::kFp8Group128:
      return arguments_json(8, "group", true, kFp8Block);
    case ActivationRule::kFp8Tensor:
      return arguments_json(8, "tensor", false, nullptr);
    case ActivationRule::kNvfp4:
      return with_scale_dtype(arguments_json(4, "tensor_group", "local", kNvfp4Block), kE4m3Dtype);
    case ActivationRule::kMxfp4:
      return with_scale_dtype(arguments_json(4, "group", true, kMxBlock), kE8m0Dtype);
    case ActivationRule::kMxfp8:
      return with_scale_dtype(arguments_json(8, "group", true, kMxBlock), kE8m0Dtype);
  }
  throw InternalError("unknown activation rule");
}

std::string_view checked_format_name(const QuantizedModule& module) {
  const auto name = ct_format_name(module.format, module.activation);
  if (name) return *name;
  throw UsageError(fmt::format(
      "{}: compressed-tensors has no name for {} weights with {} activations",
      module.module,
      format_name(module.format),
      activation_rule_name(module.activation)
  ));
}

}  // namespace

CtTargets::CtTargets(const std::vector<std::string>& targets, const std::string& source) {
  auto expressions = std::make_shared<Expressions>();
  for (const std::string& target : targets) {
    if (target.starts_with(kExpression)) {
      const std::string pattern = target.substr(kExpression.size());
      try {
        expressions->list.push_back(std::make_unique<EcmaRegex>("^(?:" + pattern + ")"));
      } catch (const DataError& error) {
        throw DataError(fmt::format("{}: \"{}\": {}", source, target, error.what()));
      }
      continue;
    }
    if (target == "Linear" || target == "LinearBase") linear_ = true;
    exact_[target] = true;
  }
  expressions_ = std::move(expressions);
}

CtTargets::Match CtTargets::match(const std::string& module) const {
  if (exact_.contains(module)) return Match::kExact;
  if (expressions_ != nullptr) {
    for (const auto& expression : expressions_->list) {
      if (expression->matches(module)) return Match::kExpression;
    }
  }
  return linear_ ? Match::kClass : Match::kNone;
}

CtConfig CtConfig::parse(const Json& section, const std::string& source) {
  CtConfig config;
  refuse_section(section, "sparsity_config", source);
  refuse_section(section, "transform_config", source);
  const auto groups = section.find("config_groups");
  require_data(
      groups != section.end() && groups->is_object(),
      "{}: quantization_config has no object \"config_groups\"",
      source
  );
  for (const auto& [name, json] : groups->items()) {
    const std::string where = fmt::format("{}: config_groups.{}", source, name);
    require_data(json.is_object(), "{}: expected an object, found {}", where, dump_json(json));
    const auto weights = json.find("weights");
    if (weights == json.end() || weights->is_null()) continue;
    config.groups.push_back(parse_group(name, json, where));
  }
  config.ignore = CtTargets(string_list(section, "ignore", source), source + ": ignore");
  config.kv_cache = parse_kv_cache(section, source);
  return config;
}

std::vector<const CtGroup*> CtConfig::groups_of(const std::string& module) const {
  std::vector<const CtGroup*> found;
  if (ignore.match(module) != CtTargets::Match::kNone) return found;
  std::vector<std::pair<CtTargets::Match, const CtGroup*>> matches;
  for (const CtGroup& group : groups) {
    const CtTargets::Match match = group.targets.match(module);
    if (match != CtTargets::Match::kNone) matches.emplace_back(match, &group);
  }
  std::ranges::stable_sort(matches, {}, [](const auto& m) { return m.first; });
  for (const auto& [match, group] : matches) found.push_back(group);
  return found;
}

std::optional<std::string_view> ct_format_name(Format format, ActivationRule activation) {
  const bool weight_only = activation == ActivationRule::kNone;
  switch (format) {
    case Format::kBlockFp8:
      if (weight_only) return "naive-quantized";
      if (activation == ActivationRule::kFp8Group128) return "float-quantized";
      return std::nullopt;
    case Format::kFp8Channel:
    case Format::kFp8Tensor:
      if (weight_only) return "naive-quantized";
      if (activation == ActivationRule::kFp8Token || activation == ActivationRule::kFp8Tensor)
        return "float-quantized";
      return std::nullopt;
    case Format::kNvfp4:
      if (weight_only || activation == ActivationRule::kNvfp4) return "nvfp4-pack-quantized";
      return std::nullopt;
    case Format::kMxfp4:
      if (weight_only || activation == ActivationRule::kMxfp4) return "mxfp4-pack-quantized";
      return std::nullopt;
    case Format::kMxfp8:
      if (weight_only || activation == ActivationRule::kMxfp8) return "mxfp8-quantized";
      return std::nullopt;
  }
  return std::nullopt;
}

Json ct_config(const QuantizedContents& contents) {
  require(
      contents.kv_cache != KvCacheFormat::kNvfp4,
      "compressed-tensors has no name for NVFP4 KV caches; use the modelopt dialect"
  );
  using Scheme = std::pair<Format, ActivationRule>;
  std::vector<Scheme> order;  // of first appearance
  std::vector<std::string_view> formats;
  std::map<Scheme, std::vector<std::string>> modules;
  for (const QuantizedModule& module : contents.quantized) {
    const Scheme scheme{module.format, module.activation};
    if (!modules.contains(scheme)) {
      order.push_back(scheme);
      formats.push_back(checked_format_name(module));
    }
    modules[scheme].push_back(module.module);
  }
  require(!order.empty(), "compressed-tensors: no module is quantized");
  Json groups = Json::object();
  for (size_t i = 0; i < order.size(); ++i) {
    const auto& [format, activation] = order[i];
    Json group = Json::object();
    // With several groups names are exact: TensorRT-LLM refuses class names then, and no reader has
    // to rank expressions. With one group engines look up the class for fused experts.
    std::vector<std::string> names = std::move(modules[order[i]]);
    std::ranges::sort(names);
    group["targets"] = order.size() == 1 ? Json({"Linear"}) : Json(names);
    group["weights"] = weight_arguments(format);
    group["input_activations"] = activation_arguments(activation);
    group["output_activations"] = nullptr;
    group["format"] = formats[i];
    groups["group_" + std::to_string(i)] = std::move(group);
  }
  Json config = Json::object();
  config["quant_method"] = "compressed-tensors";
  config["format"] = order.size() == 1 ? groups["group_0"]["format"] : Json(kMixed);
  config["quantization_status"] = "compressed";
  config["global_compression_ratio"] = nullptr;
  config["config_groups"] = std::move(groups);
  config["ignore"] =
      std::vector<std::string>(contents.unquantized.begin(), contents.unquantized.end());
  config["kv_cache_scheme"] = nullptr;
  if (contents.kv_cache == KvCacheFormat::kFp8)
    config["kv_cache_scheme"] = arguments_json(8, "tensor", false, nullptr);
  config["version"] = kVersion;
  return config;
}

}  // namespace hone
