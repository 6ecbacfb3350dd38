#include "core/io/dialect_modelopt.h"

#include <unordered_map>

#include "core/base/error.h"
#include "core/format/block_fp8.h"
#include "core/io/dialect_modelopt_config.h"
#include "core/io/dialect_parts.h"
#include "core/io/dialect_scales.h"

namespace hone {
namespace {

constexpr std::string_view kWeight = ".weight";
constexpr std::string_view kScale = ".weight_scale";
constexpr std::string_view kGlobal = ".weight_scale_2";
constexpr std::string_view kInput = ".input_scale";

const ModelOptConfig& config_of(const Checkpoint& checkpoint) {
  return checkpoint.derived<ModelOptConfig>(read_modelopt_config);
}

ModelOptScheme scheme_of(const Checkpoint& checkpoint, const std::string& module) {
  const std::optional<ModelOptScheme> scheme = config_of(checkpoint).scheme_of(module);
  if (scheme) return *scheme;
  throw DataError(fmt::format(
      "{}: {} is stored quantized, but quantized_layers does not name it: engines would read it as "
      "a plain weight",
      checkpoint.folder().string(),
      module
  ));
}

// Block FP8 scales are [N/128, 1, K/128, 1] here.
Shape block_shape(int64_t rows, int64_t cols) {
  return {fp8_blocks(rows), 1, fp8_blocks(cols), 1};
}

Tensor read_block_scales(
    const Checkpoint& checkpoint, const std::string& name, const FormatLayout& layout
) {
  if (layout.block_scales == DType::kF8E4M3) return checkpoint.borrow(name);
  if (layout.block_scales == DType::kF8E8M0) return read_e8m0_scales(checkpoint, name);
  const Tensor scales = read_float_scales(checkpoint, name);
  const Shape& wanted = layout.block_scales_shape;
  const Shape& stored = scales.shape();
  const bool same = stored == Shape{wanted.dim(0), 1, wanted.dim(1), 1} ||
                    (wanted.dim(1) == 1 && stored == Shape{wanted.dim(0)});
  return same ? reshaped(scales, wanted) : scales;
}

}  // namespace

std::optional<std::string> ModelOptDialect::refuses(const QuantizedModule& module) const {
  if (!modelopt_algo({module.format, module.activation})) {
    return fmt::format(
        "ModelOpt has no quant_algo for {} weights with {} activations",
        format_name(module.format),
        activation_rule_name(module.activation)
    );
  }
  const int64_t multiple = format_layout(module.format, module.rows, module.cols).column_multiple;
  if (module.cols % multiple != 0)
    return fmt::format("{} input features are no multiple of {}", module.cols, multiple);
  if (module.format == Format::kBlockFp8 &&
      (module.rows % kFp8Block != 0 || module.cols % kFp8Block != 0))
    return fmt::format(
        "FP8_PB_WO needs whole blocks of 128x128, the matrix is [{}, {}]", module.rows, module.cols
    );
  return std::nullopt;
}

bool ModelOptDialect::matches(const Checkpoint& checkpoint) const {
  return has_modelopt_config(checkpoint);
}

std::vector<std::string> ModelOptDialect::modules(const Checkpoint& checkpoint) const {
  std::vector<std::string> modules;
  (void)config_of(checkpoint);
  for (const std::string& name : checkpoint.names()) {
    for (const std::string_view suffix : {kScale, kGlobal, kInput}) {
      if (!name.ends_with(suffix)) continue;
      require_part(
          checkpoint, name, part_name(name.substr(0, name.size() - suffix.size()), kWeight)
      );
    }
    if (!name.ends_with(kWeight)) continue;
    const std::string module = name.substr(0, name.size() - kWeight.size());
    const DType type = checkpoint.tensor(name).type;
    const bool coded = type == DType::kU8 || type == DType::kF8E4M3;
    if (!coded && !checkpoint.contains(part_name(module, kScale))) continue;
    require_part(checkpoint, name, part_name(module, kScale));
    const ModelOptScheme scheme = scheme_of(checkpoint, module);
    if (scheme.format == Format::kNvfp4) require_part(checkpoint, name, part_name(module, kGlobal));
    if (needs_input_scale(scheme.activation))
      require_part(checkpoint, name, part_name(module, kInput));
    modules.push_back(module);
  }
  return modules;
}

QuantizedTensor ModelOptDialect::read(const Checkpoint& checkpoint, const std::string& module)
    const {
  const ModelOptScheme scheme = scheme_of(checkpoint, module);
  const bool packed = scheme.format == Format::kNvfp4;
  QuantizedTensor tensor;
  tensor.format = scheme.format;
  tensor.activation = scheme.activation;
  tensor.codes =
      read_codes(checkpoint, part_name(module, kWeight), packed ? DType::kU8 : DType::kF8E4M3);
  tensor.rows = tensor.codes.shape().dim(0);
  tensor.cols = tensor.codes.shape().dim(1) * (packed ? 2 : 1);
  const FormatLayout layout = format_layout(tensor.format, tensor.rows, tensor.cols);
  const std::string scale = part_name(module, kScale);
  if (layout.has_block_scales()) {
    tensor.block_scales = read_block_scales(checkpoint, scale, layout);
  } else {
    tensor.global = {read_scalar(checkpoint, scale), false};
  }
  if (packed) tensor.global = {read_scalar(checkpoint, part_name(module, kGlobal)), false};
  // Weight-only checkpoints may carry unused input scales.
  if (needs_input_scale(tensor.activation))
    tensor.input_scale = GlobalScale{read_scalar(checkpoint, part_name(module, kInput)), false};
  const std::string where = in_folder(checkpoint, module);
  tensor.validate(where);
  if (layout.has_block_scales() && layout.block_scales == DType::kF32)
    check_float_scales(tensor, where);
  return tensor;
}

KvCacheFormat ModelOptDialect::kv_cache(const Checkpoint& checkpoint) const {
  return config_of(checkpoint).kv_cache;
}

std::vector<DialectPart> ModelOptDialect::parts(const QuantizedModule& module) const {
  using Kind = DialectPart::Kind;
  const std::string& name = module.module;
  const FormatLayout layout = format_layout(module.format, module.rows, module.cols);
  std::vector<DialectPart> parts{
      {Kind::kCodes, {part_name(name, kWeight), layout.codes, layout.codes_shape}}};
  DialectPart scale{
      Kind::kBlockScales,
      {part_name(name, kScale), layout.block_scales, layout.block_scales_shape}};
  switch (module.format) {
    case Format::kBlockFp8:
      scale.spec.shape = block_shape(module.rows, module.cols);
      break;
    case Format::kFp8Channel:
      scale.spec.shape = Shape{module.rows};
      break;
    case Format::kFp8Tensor:
      scale = {Kind::kGlobalScale, {part_name(name, kScale), DType::kF32, Shape{}}};
      break;
    case Format::kMxfp4:
    case Format::kMxfp8:
      scale.spec.type = DType::kU8;
      break;
    case Format::kNvfp4:
      break;
  }
  parts.push_back(std::move(scale));
  if (module.format == Format::kNvfp4)
    parts.push_back({Kind::kGlobalScale, {part_name(name, kGlobal), DType::kF32, Shape{}}});
  if (needs_input_scale(module.activation))
    parts.push_back({Kind::kInputScale, {part_name(name, kInput), DType::kF32, Shape{}}});
  return parts;
}

Json ModelOptDialect::quantization_config(const QuantizedContents& contents) const {
  return modelopt_section(contents);
}

std::vector<std::pair<std::string, Json>> ModelOptDialect::extra_files(
    const QuantizedContents& contents
) const {
  return {{kModelOptConfigFile, modelopt_file(contents)}};
}

}  // namespace hone
