#include "core/io/dialect_fp8.h"

#include "core/base/error.h"
#include "core/format/block_fp8.h"

namespace hone {
namespace {

constexpr std::string_view kWeight = ".weight";
constexpr std::string_view kScale = ".weight_scale_inv";

std::string with(const std::string& module, std::string_view suffix) {
  return module + std::string(suffix);
}

}  // namespace

std::optional<std::string> Fp8Dialect::refuses(const QuantizedModule& module) const {
  if (module.format != Format::kBlockFp8) {
    return fmt::format("the fp8 dialect holds block FP8 only, not {}", format_name(module.format));
  }
  if (module.activation != ActivationRule::kFp8Group128) {
    return "the fp8 dialect means dynamic 1x128 FP8 activations";
  }
  return std::nullopt;
}

bool Fp8Dialect::matches(const Checkpoint& checkpoint) const {
  auto config = checkpoint.config().find("quantization_config");
  return config != checkpoint.config().end() && config->is_object() &&
         config->value("quant_method", "") == "fp8" && config->contains("weight_block_size");
}

std::vector<std::string> Fp8Dialect::modules(const Checkpoint& checkpoint) const {
  const std::string source = (checkpoint.folder() / "config.json").string();
  const Json& block = checkpoint.config().at("quantization_config").at("weight_block_size");
  require_data(
      block == Json({kFp8Block, kFp8Block}),
      "{}: weight_block_size {} is not read; expected [128, 128]",
      source,
      dump_json(block)
  );
  std::vector<std::string> modules;
  for (const std::string& name : checkpoint.names()) {
    if (name.ends_with(kScale)) {
      const std::string module = name.substr(0, name.size() - kScale.size());
      require_data(
          checkpoint.contains(with(module, kWeight)),
          "{}: \"{}\" has no \"{}\"",
          checkpoint.folder().string(),
          name,
          with(module, kWeight)
      );
      continue;
    }
    if (!name.ends_with(kWeight) || checkpoint.tensor(name).type != DType::kF8E4M3) continue;
    const std::string module = name.substr(0, name.size() - kWeight.size());
    require_data(
        checkpoint.contains(with(module, kScale)),
        "{}: FP8 tensor \"{}\" has no \"{}\"",
        checkpoint.folder().string(),
        name,
        with(module, kScale)
    );
    modules.push_back(module);
  }
  return modules;
}

QuantizedTensor Fp8Dialect::read(const Checkpoint& checkpoint, const std::string& module) const {
  QuantizedTensor tensor;
  tensor.format = Format::kBlockFp8;
  tensor.activation = ActivationRule::kFp8Group128;
  tensor.codes = checkpoint.borrow(with(module, kWeight));
  tensor.block_scales = checkpoint.borrow(with(module, kScale));
  const std::string where = checkpoint.folder().string() + ": " + module;
  require_data(
      tensor.codes.shape().rank() == 2,
      "{}: weight must have rank 2, has {}",
      where,
      tensor.codes.shape().str()
  );
  tensor.rows = tensor.codes.shape().dim(0);
  tensor.cols = tensor.codes.shape().dim(1);
  tensor.validate(where);
  return tensor;
}

std::vector<DialectPart> Fp8Dialect::parts(const QuantizedModule& module) const {
  using Kind = DialectPart::Kind;
  return {
      {Kind::kCodes,
       {with(module.module, kWeight), DType::kF8E4M3, Shape{module.rows, module.cols}}},
      {Kind::kBlockScales,
       {with(module.module, kScale),
        DType::kF32,
        Shape{fp8_blocks(module.rows), fp8_blocks(module.cols)}}}};
}

Json Fp8Dialect::quantization_config(
    std::span<const QuantizedModule>, std::span<const std::string> unquantized
) const {
  const std::vector<std::string> ignored(unquantized.begin(), unquantized.end());
  Json config = Json::object();
  config["quant_method"] = "fp8";
  config["fmt"] = "e4m3";
  config["activation_scheme"] = "dynamic";
  config["weight_block_size"] = {kFp8Block, kFp8Block};
  config["modules_to_not_convert"] = ignored;
  config["ignored_layers"] = ignored;
  return config;
}

std::vector<std::pair<std::string, Json>>
Fp8Dialect::extra_files(std::span<const QuantizedModule>, std::span<const std::string>) const {
  return {};
}

}  // namespace hone
