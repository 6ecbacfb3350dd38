#include "core/io/dialect_compressed_tensors.h"

#include <unordered_map>

#include "core/base/error.h"
#include "core/format/block_fp8.h"
#include "core/io/dialect_compressed_tensors_config.h"
#include "core/io/dialect_parts.h"
#include "core/io/dialect_scales.h"

namespace hone {
namespace {

constexpr std::string_view kMethod = "compressed-tensors";
constexpr std::string_view kWeight = ".weight";
constexpr std::string_view kPacked = ".weight_packed";
constexpr std::string_view kScale = ".weight_scale";
constexpr std::string_view kGlobal = ".weight_global_scale";
constexpr std::string_view kInput = ".input_scale";
constexpr std::string_view kInputGlobal = ".input_global_scale";

bool is_packed(Format format) {
  return format == Format::kNvfp4 || format == Format::kMxfp4;
}

std::string codes_name(const std::string& module, Format format) {
  return part_name(module, is_packed(format) ? kPacked : kWeight);
}

// Can the tensors of the module be of this format? Sizes are judged when it is read.
bool fits(const Checkpoint& checkpoint, const std::string& module, Format format) {
  if (checkpoint.contains(part_name(module, kPacked)) != is_packed(format)) return false;
  const TensorView codes = checkpoint.tensor(codes_name(module, format));
  const TensorView scale = checkpoint.tensor(part_name(module, kScale));
  const bool exponents = scale.type == DType::kU8 || scale.type == DType::kF8E8M0;
  if (codes.shape.rank() != 2) return true;
  switch (format) {
    case Format::kNvfp4:
      return scale.type == DType::kF8E4M3;
    case Format::kMxfp4:
    case Format::kMxfp8:
      return exponents;
    case Format::kFp8Tensor:
      return scale.numel() == 1 && !exponents;
    case Format::kFp8Channel:
      return scale.numel() == codes.shape.dim(0) && !exponents;
    case Format::kBlockFp8: {
      const Shape blocks{fp8_blocks(codes.shape.dim(0)), fp8_blocks(codes.shape.dim(1))};
      return scale.shape == blocks && !exponents;
    }
  }
  return false;
}

// Everything that the checkpoint stores quantized, by its config.
struct CtIndex {
  CtConfig config;
  std::vector<std::string> modules;  // in checkpoint order
  std::unordered_map<std::string, const CtGroup*> groups;
};

const CtGroup* choose_group(
    const Checkpoint& checkpoint, const CtConfig& config, const std::string& module
) {
  const std::vector<const CtGroup*> groups = config.groups_of(module);
  require_data(
      !groups.empty(),
      "{}: {} is stored quantized, but {}: engines would read it as a plain weight",
      config_source(checkpoint),
      module,
      config.ignore.match(module) == CtTargets::Match::kNone ? "no target matches it"
                                                             : "\"ignore\" lists it"
  );
  for (const CtGroup* group : groups) {
    if (fits(checkpoint, module, group->format)) return group;
  }
  const TensorView scale = checkpoint.tensor(part_name(module, kScale));
  throw DataError(fmt::format(
      "{}: config group {} says that {} is {}, but its weight_scale is {} {}",
      config_source(checkpoint),
      groups.front()->name,
      module,
      format_name(groups.front()->format),
      dtype_name(scale.type),
      scale.shape.str()
  ));
}

// The module that a tensor of codes belongs to; nullopt for every other tensor.
std::optional<std::string> module_of_codes(const Checkpoint& checkpoint, const std::string& name) {
  if (name.ends_with(kPacked)) return name.substr(0, name.size() - kPacked.size());
  if (!name.ends_with(kWeight)) return std::nullopt;
  const std::string module = name.substr(0, name.size() - kWeight.size());
  const DType type = checkpoint.tensor(name).type;
  if (type == DType::kF8E4M3 || checkpoint.contains(part_name(module, kScale))) return module;
  return std::nullopt;
}

// Scales need codes.
void check_orphan(const Checkpoint& checkpoint, const std::string& name) {
  for (const std::string_view suffix : {kGlobal, kInputGlobal, kInput, kScale}) {
    if (!name.ends_with(suffix)) continue;
    const std::string module = name.substr(0, name.size() - suffix.size());
    if (checkpoint.contains(part_name(module, kPacked))) return;
    const bool needs_packed = suffix == kGlobal || suffix == kInputGlobal;
    require_part(checkpoint, name, part_name(module, needs_packed ? kPacked : kWeight));
    return;
  }
}

void check_parts(const Checkpoint& checkpoint, const std::string& module, const CtGroup& group) {
  const std::string codes = codes_name(module, group.format);
  if (group.format == Format::kNvfp4) require_part(checkpoint, codes, part_name(module, kGlobal));
  if (group.activation == ActivationRule::kNvfp4)
    require_part(checkpoint, codes, part_name(module, kInputGlobal));
  if (group.activation == ActivationRule::kFp8Tensor)
    require_part(checkpoint, codes, part_name(module, kInput));
}

CtIndex make_index(const Checkpoint& checkpoint) {
  CtIndex index;
  index.config = CtConfig::parse(*quantization_section(checkpoint), config_source(checkpoint));
  for (const std::string& name : checkpoint.names()) {
    check_orphan(checkpoint, name);
    const std::optional<std::string> module = module_of_codes(checkpoint, name);
    if (!module) continue;
    require_part(checkpoint, name, part_name(*module, kScale));
    const CtGroup* group = choose_group(checkpoint, index.config, *module);
    check_parts(checkpoint, *module, *group);
    index.modules.push_back(*module);
    index.groups[*module] = group;
  }
  return index;
}

const CtIndex& index_of(const Checkpoint& checkpoint) {
  return checkpoint.derived<CtIndex>(make_index);
}

Tensor read_block_scales(
    const Checkpoint& checkpoint, const std::string& name, const FormatLayout& layout
) {
  switch (layout.block_scales) {
    case DType::kF8E4M3:
      return checkpoint.borrow(name);
    case DType::kF8E8M0:
      return read_e8m0_scales(checkpoint, name);
    default: {
      // [N] is as good as [N, 1].
      const Tensor scales = read_float_scales(checkpoint, name);
      const bool column = scales.shape() == Shape{layout.block_scales_shape.dim(0)};
      return column ? reshaped(scales, layout.block_scales_shape) : scales;
    }
  }
}

}  // namespace

std::optional<std::string> CompressedTensorsDialect::refuses(const QuantizedModule& module) const {
  if (!ct_format_name(module.format, module.activation)) {
    return fmt::format(
        "compressed-tensors has no name for {} weights with {} activations",
        format_name(module.format),
        activation_rule_name(module.activation)
    );
  }
  const int64_t multiple = format_layout(module.format, module.rows, module.cols).column_multiple;
  if (module.cols % multiple != 0)
    return fmt::format("{} input features are no multiple of {}", module.cols, multiple);
  return std::nullopt;
}

bool CompressedTensorsDialect::matches(const Checkpoint& checkpoint) const {
  const Json* config = quantization_section(checkpoint);
  return config != nullptr && text_field(*config, "quant_method") == kMethod;
}

std::vector<std::string> CompressedTensorsDialect::modules(const Checkpoint& checkpoint) const {
  return index_of(checkpoint).modules;
}

QuantizedTensor CompressedTensorsDialect::read(
    const Checkpoint& checkpoint, const std::string& module
) const {
  const CtIndex& index = index_of(checkpoint);
  const auto group = index.groups.find(module);
  require_data(
      group != index.groups.end(), "{} is not stored quantized", in_folder(checkpoint, module)
  );
  const Format format = group->second->format;
  QuantizedTensor tensor;
  tensor.format = format;
  tensor.activation = group->second->activation;
  tensor.codes = read_codes(
      checkpoint, codes_name(module, format), is_packed(format) ? DType::kU8 : DType::kF8E4M3
  );
  tensor.rows = tensor.codes.shape().dim(0);
  tensor.cols = tensor.codes.shape().dim(1) * (is_packed(format) ? 2 : 1);
  const FormatLayout layout = format_layout(format, tensor.rows, tensor.cols);
  if (layout.has_block_scales())
    tensor.block_scales = read_block_scales(checkpoint, part_name(module, kScale), layout);
  if (format == Format::kNvfp4)
    tensor.global = {read_scalar(checkpoint, part_name(module, kGlobal)), true};
  if (format == Format::kFp8Tensor)
    tensor.global = {read_scalar(checkpoint, part_name(module, kScale)), false};
  if (tensor.activation == ActivationRule::kNvfp4)
    tensor.input_scale =
        GlobalScale{read_scalar(checkpoint, part_name(module, kInputGlobal)), true};
  if (tensor.activation == ActivationRule::kFp8Tensor)
    tensor.input_scale = GlobalScale{read_scalar(checkpoint, part_name(module, kInput)), false};
  const std::string where = in_folder(checkpoint, module);
  tensor.validate(where);
  if (layout.block_scales == DType::kF32 && layout.has_block_scales())
    check_float_scales(tensor, where);
  return tensor;
}

KvCacheFormat CompressedTensorsDialect::kv_cache(const Checkpoint& checkpoint) const {
  return index_of(checkpoint).config.kv_cache;
}

std::vector<DialectPart> CompressedTensorsDialect::parts(const QuantizedModule& module) const {
  using Kind = DialectPart::Kind;
  const FormatLayout layout = format_layout(module.format, module.rows, module.cols);
  const std::string& name = module.module;
  std::vector<DialectPart> parts{
      {Kind::kCodes, {codes_name(name, module.format), layout.codes, layout.codes_shape}}};
  const DType scales = layout.block_scales == DType::kF8E8M0 ? DType::kU8 : layout.block_scales;
  if (layout.has_block_scales())
    parts.push_back(
        {Kind::kBlockScales, {part_name(name, kScale), scales, layout.block_scales_shape}}
    );
  if (module.format == Format::kFp8Tensor)
    parts.push_back({Kind::kGlobalScale, {part_name(name, kScale), DType::kF32, Shape{1}}});
  if (module.format == Format::kNvfp4)
    parts.push_back({Kind::kGlobalScale, {part_name(name, kGlobal), DType::kF32, Shape{1}}, true});
  if (module.activation == ActivationRule::kNvfp4)
    parts.push_back(
        {Kind::kInputScale, {part_name(name, kInputGlobal), DType::kF32, Shape{1}}, true}
    );
  if (module.activation == ActivationRule::kFp8Tensor)
    parts.push_back({Kind::kInputScale, {part_name(name, kInput), DType::kF32, Shape{1}}});
  return parts;
}

Json CompressedTensorsDialect::quantization_config(const QuantizedContents& contents) const {
  return ct_config(contents);
}

std::vector<std::pair<std::string, Json>> CompressedTensorsDialect::extra_files(
    const QuantizedContents& /*contents*/
) const {
  return {};
}

}  // namespace hone
