#include "core/io/dialect_fp8.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/format/block_fp8.h"
#include "core/io/dialect_parts.h"
#include "core/io/dialect_scales.h"

namespace hone {
namespace {

constexpr std::string_view kWeight = ".weight";
constexpr std::string_view kBlockScale = ".weight_scale_inv";
constexpr std::string_view kTensorScale = ".weight_scale";
constexpr std::string_view kInput = ".input_scale";
constexpr const char* kBlockSize = "weight_block_size";

// What the whole folder is.
struct Layout {
  Format format = Format::kBlockFp8;
  ActivationRule activation = ActivationRule::kFp8Group128;
};

std::string_view scale_suffix(Format format) {
  return format == Format::kBlockFp8 ? kBlockScale : kTensorScale;
}

Layout layout_of(const Checkpoint& checkpoint) {
  const std::string source = config_source(checkpoint);
  const Json& config = *quantization_section(checkpoint);
  const std::string fmt_name = text_field(config, "fmt");
  require_data(
      fmt_name.empty() || fmt_name == "e4m3" || fmt_name == "float8_e4m3fn",
      "{}: fmt \"{}\" is not read; expected \"e4m3\"",
      source,
      fmt_name
  );
  const std::string scheme = json_string_or(config, "activation_scheme", "dynamic", source);
  require_data(
      scheme == "dynamic" || scheme == "static",
      "{}: activation_scheme \"{}\" is not read; expected dynamic or static",
      source,
      scheme
  );
  const auto block = config.find(kBlockSize);
  if (block == config.end() || block->is_null()) {
    return {
        Format::kFp8Tensor,
        scheme == "static" ? ActivationRule::kFp8Tensor : ActivationRule::kFp8Token};
  }
  require_data(
      *block == Json({kFp8Block, kFp8Block}),
      "{}: weight_block_size {} is not read; expected [128, 128]",
      source,
      dump_json(*block)
  );
  require_data(
      scheme == "dynamic",
      "{}: activation_scheme \"static\" contradicts weight_block_size; expected dynamic",
      source
  );
  return {};
}

}  // namespace

std::optional<std::string> Fp8Dialect::refuses(const QuantizedModule& module) const {
  if (module.format == Format::kBlockFp8) {
    if (module.activation == ActivationRule::kFp8Group128) return std::nullopt;
    return "block FP8 in the fp8 dialect means dynamic 1x128 FP8 activations";
  }
  if (module.format == Format::kFp8Tensor) {
    if (module.activation == ActivationRule::kFp8Tensor ||
        module.activation == ActivationRule::kFp8Token)
      return std::nullopt;
    return "FP8 per tensor in the fp8 dialect means FP8 activations, static or dynamic";
  }
  return fmt::format(
      "the fp8 dialect holds FP8 in blocks or per tensor, not {}", format_name(module.format)
  );
}

bool Fp8Dialect::matches(const Checkpoint& checkpoint) const {
  const Json* config = quantization_section(checkpoint);
  // With "quant_algo" other formats are mixed in under ModelOpt's names.
  return config != nullptr && text_field(*config, "quant_method") == "fp8" &&
         !config->contains("quant_algo");
}

std::vector<std::string> Fp8Dialect::modules(const Checkpoint& checkpoint) const {
  const Layout layout = layout_of(checkpoint);
  const std::string_view scale = scale_suffix(layout.format);
  std::vector<std::string> modules;
  for (const std::string& name : checkpoint.names()) {
    for (const std::string_view suffix : {scale, kInput}) {
      if (!name.ends_with(suffix)) continue;
      const std::string module = name.substr(0, name.size() - suffix.size());
      require_part(checkpoint, name, part_name(module, kWeight));
    }
    if (!name.ends_with(kWeight) || checkpoint.tensor(name).type != DType::kF8E4M3) continue;
    const std::string module = name.substr(0, name.size() - kWeight.size());
    require_part(checkpoint, name, part_name(module, scale));
    if (layout.activation == ActivationRule::kFp8Tensor)
      require_part(checkpoint, name, part_name(module, kInput));
    modules.push_back(module);
  }
  return modules;
}

QuantizedTensor Fp8Dialect::read(const Checkpoint& checkpoint, const std::string& module) const {
  const Layout layout = layout_of(checkpoint);
  QuantizedTensor tensor;
  tensor.format = layout.format;
  tensor.activation = layout.activation;
  tensor.codes = read_codes(checkpoint, part_name(module, kWeight), DType::kF8E4M3);
  tensor.rows = tensor.codes.shape().dim(0);
  tensor.cols = tensor.codes.shape().dim(1);
  const std::string scale = part_name(module, scale_suffix(layout.format));
  if (layout.format == Format::kBlockFp8) {
    tensor.block_scales = read_float_scales(checkpoint, scale);
  } else {
    tensor.global = {read_scalar(checkpoint, scale), false};
  }
  if (layout.activation == ActivationRule::kFp8Tensor)
    tensor.input_scale = GlobalScale{read_scalar(checkpoint, part_name(module, kInput)), false};
  const std::string where = in_folder(checkpoint, module);
  tensor.validate(where);
  if (layout.format == Format::kBlockFp8) check_float_scales(tensor, where);
  return tensor;
}

KvCacheFormat Fp8Dialect::kv_cache(const Checkpoint& /*checkpoint*/) const {
  return KvCacheFormat::kNone;
}

std::vector<DialectPart> Fp8Dialect::parts(const QuantizedModule& module) const {
  using Kind = DialectPart::Kind;
  const std::string& name = module.module;
  const Shape shape{module.rows, module.cols};
  std::vector<DialectPart> parts{{Kind::kCodes, {part_name(name, kWeight), DType::kF8E4M3, shape}}};
  if (module.format == Format::kBlockFp8) {
    const Shape blocks{fp8_blocks(module.rows), fp8_blocks(module.cols)};
    parts.push_back({Kind::kBlockScales, {part_name(name, kBlockScale), DType::kF32, blocks}});
  } else {
    parts.push_back({Kind::kGlobalScale, {part_name(name, kTensorScale), DType::kF32, Shape{}}});
  }
  if (module.activation == ActivationRule::kFp8Tensor)
    parts.push_back({Kind::kInputScale, {part_name(name, kInput), DType::kF32, Shape{}}});
  return parts;
}

Json Fp8Dialect::quantization_config(const QuantizedContents& contents) const {
  const std::span<const QuantizedModule> quantized = contents.quantized;
  for (const QuantizedModule& module : quantized) {
    const QuantizedModule& first = quantized.front();
    require(
        module.format == first.format && module.activation == first.activation,
        "the fp8 dialect holds one scheme: {} is {} with {} activations, {} is {} with {}",
        first.module,
        format_name(first.format),
        activation_rule_name(first.activation),
        module.module,
        format_name(module.format),
        activation_rule_name(module.activation)
    );
  }
  const bool blocks = quantized.empty() || quantized.front().format == Format::kBlockFp8;
  const bool fixed =
      !quantized.empty() && quantized.front().activation == ActivationRule::kFp8Tensor;
  const bool power_of_two =
      blocks && !quantized.empty() && std::ranges::all_of(quantized, [](const QuantizedModule& m) {
        return m.power_of_two_scales;
      });
  const std::vector<std::string> ignored(contents.unquantized.begin(), contents.unquantized.end());
  Json config = Json::object();
  config["quant_method"] = "fp8";
  config["fmt"] = "e4m3";
  config["activation_scheme"] = fixed ? "static" : "dynamic";
  if (blocks) config[kBlockSize] = {kFp8Block, kFp8Block};
  if (power_of_two) config["scale_fmt"] = "ue8m0";
  config["modules_to_not_convert"] = ignored;
  config["ignored_layers"] = ignored;
  return config;
}

std::vector<std::pair<std::string, Json>> Fp8Dialect::extra_files(
    const QuantizedContents& /*contents*/
) const {
  return {};
}

}  // namespace hone
