#include "core/io/dialect_modelopt.h"

#include <cmath>
#include <cstring>

#include "core/base/error.h"
#include "core/format/nvfp4.h"

namespace hone {
namespace {

constexpr std::string_view kWeight = ".weight";
constexpr std::string_view kScale = ".weight_scale";
constexpr std::string_view kGlobal = ".weight_scale_2";
constexpr std::string_view kInput = ".input_scale";
constexpr const char* kConfigFile = "hf_quant_config.json";

std::string with(const std::string& module, std::string_view suffix) {
  return module + std::string(suffix);
}

// The algorithm's name, from config.json or from the older separate file; "" when there is none.
std::string quant_algo(const Checkpoint& checkpoint) {
  auto config = checkpoint.config().find("quantization_config");
  if (config != checkpoint.config().end() && config->is_object()) {
    if (config->value("quant_method", "") != "modelopt") return "";
    return config->value("quant_algo", "");
  }
  const auto path = checkpoint.folder() / kConfigFile;
  if (!std::filesystem::exists(path)) return "";
  const Json document = read_json_file(path);
  auto quantization = document.find("quantization");
  if (quantization == document.end() || !quantization->is_object()) return "";
  return quantization->value("quant_algo", "");
}

float read_scalar(const Checkpoint& checkpoint, const std::string& name) {
  const TensorView view = checkpoint.tensor(name);
  const std::string where = checkpoint.folder().string() + ": " + name;
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
  return weight_only ? "W4A16_NVFP4" : "NVFP4";
}

std::vector<std::string> excluded(std::span<const std::string> unquantized) {
  std::vector<std::string> names(unquantized.begin(), unquantized.end());
  if (names.empty()) names.emplace_back("lm_head");
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
  return algo == "NVFP4" || algo == "W4A16_NVFP4";
}

std::vector<std::string> ModelOptDialect::modules(const Checkpoint& checkpoint) const {
  std::vector<std::string> modules;
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
        need(with(name.substr(0, name.size() - suffix.size()), kWeight), name);
    }
    if (!name.ends_with(kWeight)) continue;
    const std::string module = name.substr(0, name.size() - kWeight.size());
    const bool packed = checkpoint.tensor(name).type == DType::kU8;
    const bool scaled = checkpoint.contains(with(module, kScale));
    if (!packed && !scaled) continue;
    need(with(module, kScale), name);
    need(with(module, kGlobal), name);
    modules.push_back(module);
  }
  return modules;
}

QuantizedTensor ModelOptDialect::read(const Checkpoint& checkpoint, const std::string& module)
    const {
  const std::string where = checkpoint.folder().string() + ": " + module;
  QuantizedTensor tensor;
  tensor.format = Format::kNvfp4;
  tensor.codes = checkpoint.borrow(with(module, kWeight));
  tensor.block_scales = checkpoint.borrow(with(module, kScale));
  require_data(
      tensor.codes.shape().rank() == 2,
      "{}: weight must have rank 2, has {}",
      where,
      tensor.codes.shape().str()
  );
  tensor.rows = tensor.codes.shape().dim(0);
  tensor.cols = tensor.codes.shape().dim(1) * 2;
  tensor.global = {read_scalar(checkpoint, with(module, kGlobal)), false};
  if (checkpoint.contains(with(module, kInput))) {
    tensor.activation = ActivationRule::kNvfp4;
    tensor.input_scale = GlobalScale{read_scalar(checkpoint, with(module, kInput)), false};
  }
  tensor.validate(where);
  return tensor;
}

std::vector<DialectPart> ModelOptDialect::parts(const QuantizedModule& module) const {
  using Kind = DialectPart::Kind;
  std::vector<DialectPart> parts{
      {Kind::kCodes,
       {with(module.module, kWeight), DType::kU8, Shape{module.rows, module.cols / 2}}},
      {Kind::kBlockScales,
       {with(module.module, kScale),
        DType::kF8E4M3,
        Shape{module.rows, module.cols / kNvfp4Block}}},
      {Kind::kGlobalScale, {with(module.module, kGlobal), DType::kF32, Shape{}}}};
  if (module.activation == ActivationRule::kNvfp4) {
    parts.push_back({Kind::kInputScale, {with(module.module, kInput), DType::kF32, Shape{}}});
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
  config["ignore"] = excluded(unquantized);
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
  quantization["exclude_modules"] = excluded(unquantized);
  return {{kConfigFile, {{"producer", producer()}, {"quantization", quantization}}}};
}

}  // namespace hone
