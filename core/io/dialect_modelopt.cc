#include "core/io/dialect_modelopt.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/base/error.h"
#include "core/format/nvfp4.h"
#include "core/io/dialect_parts.h"

namespace hone {
namespace {

constexpr std::string_view kWeight = ".weight";
constexpr std::string_view kScale = ".weight_scale";
constexpr std::string_view kGlobal = ".weight_scale_2";
constexpr std::string_view kInput = ".input_scale";
constexpr std::string_view kWeightOnly = "W4A16_NVFP4";
constexpr const char* kConfigFile = "hf_quant_config.json";

// quant_algo of hf_quant_config.json; "" without the file.
std::string algo_of_file(const Checkpoint& checkpoint) {
  const auto path = checkpoint.folder() / kConfigFile;
  if (!std::filesystem::exists(path)) return "";
  const Json document = read_json_file(path);
  const auto found = document.is_object() ? document.find("quantization") : document.end();
  require_data(
      found != document.end() && found->is_object(),
      "{}: \"quantization\" must be an object",
      path.string()
  );
  return json_string_or(*found, "quant_algo", "", path.string());
}

// The algorithm's name; "" when another dialect's config, or none, is there. Older checkpoints have
// the separate file only.
std::string quant_algo(const Checkpoint& checkpoint) {
  const Json* config = quantization_section(checkpoint);
  if (config == nullptr) return algo_of_file(checkpoint);
  if (text_field(*config, "quant_method") != "modelopt") return "";
  std::string algo = text_field(*config, "quant_algo");
  const std::string other = algo_of_file(checkpoint);
  require_data(
      other.empty() || other == algo,
      "{}: config.json says quant_algo \"{}\", {} says \"{}\"; engines read either",
      checkpoint.folder().string(),
      algo,
      kConfigFile,
      other
  );
  return algo;
}

float read_scalar(const Checkpoint& checkpoint, const std::string& name) {
  const TensorView view = checkpoint.tensor(name);
  const std::string where = in_folder(checkpoint, name);
  require_data(
      view.type == DType::kF32 && view.numel() == 1,
      "{}: expected one F32, found {} {}",
      where,
      dtype_name(view.type),
      view.shape.str()
  );
  float value = 0;
  std::memcpy(&value, view.data, sizeof(value));
  require_data(
      std::isfinite(value) && value > 0, "{}: must be positive and finite, is {}", where, value
  );
  return value;
}

std::string_view algo_of(std::span<const QuantizedModule> quantized) {
  const bool weight_only =
      !quantized.empty() && quantized.front().activation == ActivationRule::kNone;
  for (const QuantizedModule& module : quantized) {
    require(
        (module.activation == ActivationRule::kNone) == weight_only,
        "{}: the modelopt dialect cannot mix NVFP4 with and without quantized activations",
        module.module
    );
  }
  return weight_only ? kWeightOnly : "NVFP4";
}

// Never empty: SGLang refuses that. Where nothing is left out, a module that no engine quantizes
// (or has) stands in.
std::vector<std::string> excluded(
    std::span<const QuantizedModule> quantized, std::span<const std::string> unquantized
) {
  std::vector<std::string> names(unquantized.begin(), unquantized.end());
  if (!names.empty()) return names;
  const bool head = std::ranges::any_of(quantized, [](const QuantizedModule& module) {
    return module.module == "lm_head";
  });
  names.emplace_back(head ? "model.embed_tokens" : "lm_head");
  return names;
}

Json producer() {
  return {{"name", "modelopt"}, {"version", "0.29.0"}};
}

}  // namespace

std::optional<std::string> ModelOptDialect::refuses(const QuantizedModule& module) const {
  if (module.format != Format::kNvfp4) {
    return fmt::format(
        "the modelopt dialect is written for NVFP4 only, not {}", format_name(module.format)
    );
  }
  if (module.cols % kNvfp4Block != 0) {
    return fmt::format("{} input features are no multiple of {}", module.cols, kNvfp4Block);
  }
  if (module.activation == ActivationRule::kFp8Group128) {
    return "NVFP4 weights go with NVFP4 activations or none";
  }
  return std::nullopt;
}

bool ModelOptDialect::matches(const Checkpoint& checkpoint) const {
  const std::string algo = quant_algo(checkpoint);
  return algo == "NVFP4" || algo == kWeightOnly;
}

std::vector<std::string> ModelOptDialect::modules(const Checkpoint& checkpoint) const {
  std::vector<std::string> modules;
  const bool activations = quant_algo(checkpoint) != kWeightOnly;
  const auto need = [&](const std::string& name, const std::string& because) {
    require_data(
        checkpoint.contains(name),
        "{}: \"{}\" has no \"{}\"",
        checkpoint.folder().string(),
        because,
        name
    );
  };
  for (const std::string& name : checkpoint.names()) {
    for (const std::string_view suffix : {kScale, kGlobal, kInput}) {
      if (name.ends_with(suffix))
        need(part_name(name.substr(0, name.size() - suffix.size()), kWeight), name);
    }
    if (!name.ends_with(kWeight)) continue;
    const std::string module = name.substr(0, name.size() - kWeight.size());
    const bool packed = checkpoint.tensor(name).type == DType::kU8;
    const bool scaled = checkpoint.contains(part_name(module, kScale));
    if (!packed && !scaled) continue;
    need(part_name(module, kScale), name);
    need(part_name(module, kGlobal), name);
    if (activations) need(part_name(module, kInput), name);
    modules.push_back(module);
  }
  return modules;
}

QuantizedTensor ModelOptDialect::read(const Checkpoint& checkpoint, const std::string& module)
    const {
  const std::string where = in_folder(checkpoint, module);
  QuantizedTensor tensor;
  tensor.format = Format::kNvfp4;
  tensor.codes = checkpoint.borrow(part_name(module, kWeight));
  tensor.block_scales = checkpoint.borrow(part_name(module, kScale));
  require_data(
      tensor.codes.shape().rank() == 2,
      "{}: weight must have rank 2, has {}",
      where,
      tensor.codes.shape().str()
  );
  tensor.rows = tensor.codes.shape().dim(0);
  tensor.cols = tensor.codes.shape().dim(1) * 2;
  tensor.global = {read_scalar(checkpoint, part_name(module, kGlobal)), false};
  // W4A16 checkpoints may carry unused input scales.
  const Json* config = quantization_section(checkpoint);
  const std::string algo =
      config != nullptr ? text_field(*config, "quant_algo") : algo_of_file(checkpoint);
  if (algo != kWeightOnly) {
    tensor.activation = ActivationRule::kNvfp4;
    tensor.input_scale = GlobalScale{read_scalar(checkpoint, part_name(module, kInput)), false};
  }
  tensor.validate(where);
  return tensor;
}

std::vector<DialectPart> ModelOptDialect::parts(const QuantizedModule& module) const {
  using Kind = DialectPart::Kind;
  std::vector<DialectPart> parts{
      {Kind::kCodes,
       {part_name(module.module, kWeight), DType::kU8, Shape{module.rows, module.cols / 2}}},
      {Kind::kBlockScales,
       {part_name(module.module, kScale),
        DType::kF8E4M3,
        Shape{module.rows, module.cols / kNvfp4Block}}},
      {Kind::kGlobalScale, {part_name(module.module, kGlobal), DType::kF32, Shape{}}}};
  if (module.activation == ActivationRule::kNvfp4) {
    parts.push_back({Kind::kInputScale, {part_name(module.module, kInput), DType::kF32, Shape{}}});
  }
  return parts;
}

Json ModelOptDialect::quantization_config(
    std::span<const QuantizedModule> quantized, std::span<const std::string> unquantized
) const {
  const std::string_view algo = algo_of(quantized);
  const Json arguments = {
      {"dynamic", false}, {"num_bits", 4}, {"type", "float"}, {"group_size", kNvfp4Block}};
  Json group = Json::object();
  if (algo == "NVFP4") group["input_activations"] = arguments;
  group["weights"] = arguments;
  group["targets"] = {"Linear"};
  Json config = Json::object();
  config["config_groups"] = {{"group_0", group}};
  config["ignore"] = excluded(quantized, unquantized);
  config["quant_algo"] = algo;
  config["producer"] = producer();
  config["quant_method"] = "modelopt";
  return config;
}

std::vector<std::pair<std::string, Json>> ModelOptDialect::extra_files(
    std::span<const QuantizedModule> quantized, std::span<const std::string> unquantized
) const {
  Json quantization = Json::object();
  quantization["quant_algo"] = algo_of(quantized);
  quantization["kv_cache_quant_algo"] = nullptr;
  quantization["group_size"] = kNvfp4Block;
  quantization["exclude_modules"] = excluded(quantized, unquantized);
  return {{kConfigFile, {{"producer", producer()}, {"quantization", quantization}}}};
}

}  // namespace hone
