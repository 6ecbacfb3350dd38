#include "core/io/dialect_gpt_oss.h"

#include "core/base/error.h"
#include "core/format/mx.h"
#include "core/io/dialect_parts.h"
#include "core/io/dialect_scales.h"

namespace hone {
namespace {

constexpr std::string_view kBlocks = "_blocks";
constexpr std::string_view kScales = "_scales";
constexpr int64_t kBlockBytes = kMxBlock / 2;
constexpr const char* kReadOnly =
    "the mxfp4 dialect of GPT-OSS is read only; write compressed-tensors (scheme mxfp4) or "
    "modelopt";

}  // namespace

std::optional<std::string> GptOssDialect::refuses(const QuantizedModule& /*module*/) const {
  return kReadOnly;
}

bool GptOssDialect::matches(const Checkpoint& checkpoint) const {
  const Json* config = quantization_section(checkpoint);
  return config != nullptr && text_field(*config, "quant_method") == "mxfp4";
}

std::vector<std::string> GptOssDialect::modules(const Checkpoint& checkpoint) const {
  std::vector<std::string> modules;
  for (const std::string& name : checkpoint.names()) {
    if (name.ends_with(kScales))
      require_part(
          checkpoint, name, part_name(name.substr(0, name.size() - kScales.size()), kBlocks)
      );
    if (!name.ends_with(kBlocks)) continue;
    const std::string module = name.substr(0, name.size() - kBlocks.size());
    require_part(checkpoint, name, part_name(module, kScales));
    modules.push_back(module);
  }
  return modules;
}

QuantizedTensor GptOssDialect::read(const Checkpoint& checkpoint, const std::string& module) const {
  const std::string blocks_name = part_name(module, kBlocks);
  const Tensor blocks = checkpoint.borrow(blocks_name);
  const Shape& shape = blocks.shape();
  require_data(
      blocks.type() == DType::kU8 && shape.rank() == 4 && shape.dim(3) == kBlockBytes,
      "{}: expected U8 [experts, rows, columns / 32, 16], found {} {}",
      in_folder(checkpoint, blocks_name),
      dtype_name(blocks.type()),
      shape.str()
  );
  const std::string scales_name = part_name(module, kScales);
  const Tensor scales = read_e8m0_scales(checkpoint, scales_name);
  const Shape expected{shape.dim(0), shape.dim(1), shape.dim(2)};
  require_data(
      scales.shape() == expected,
      "{}: expected {}, found {}",
      in_folder(checkpoint, scales_name),
      expected.str(),
      scales.shape().str()
  );
  QuantizedTensor tensor;
  tensor.format = Format::kMxfp4;
  tensor.activation = ActivationRule::kNone;
  tensor.rows = shape.dim(0) * shape.dim(1);
  tensor.cols = shape.dim(2) * kMxBlock;
  tensor.codes = reshaped(blocks, {tensor.rows, tensor.cols / 2});
  tensor.block_scales = reshaped(scales, {tensor.rows, shape.dim(2)});
  tensor.validate(in_folder(checkpoint, module));
  return tensor;
}

KvCacheFormat GptOssDialect::kv_cache(const Checkpoint& /*checkpoint*/) const {
  return KvCacheFormat::kNone;
}

std::vector<DialectPart> GptOssDialect::parts(const QuantizedModule& module) const {
  using Kind = DialectPart::Kind;
  const int64_t across = module.cols / kMxBlock;
  return {
      {Kind::kCodes,
       {part_name(module.module, kBlocks), DType::kU8, Shape{1, module.rows, across, kBlockBytes}}},
      {Kind::kBlockScales,
       {part_name(module.module, kScales), DType::kU8, Shape{1, module.rows, across}}}};
}

Json GptOssDialect::quantization_config(const QuantizedContents& /*contents*/) const {
  throw UsageError(kReadOnly);
}

std::vector<std::pair<std::string, Json>> GptOssDialect::extra_files(
    const QuantizedContents& /*contents*/
) const {
  throw UsageError(kReadOnly);
}

}  // namespace hone
