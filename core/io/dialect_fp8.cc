#include "core/io/dialect_fp8.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/format/block_fp8.h"
#include "core/format/load.h"
#include "core/io/dialect_parts.h"

namespace hone {
namespace {

constexpr std::string_view kWeight = ".weight";
constexpr std::string_view kScale = ".weight_scale_inv";

// Scales as F32: DeepSeek stores F32, others BF16 or the exponent alone (F8_E8M0); all are exact in
// float32.
Tensor read_scales(const Checkpoint& checkpoint, const std::string& name) {
  const TensorView stored = checkpoint.tensor(name);
  if (stored.type == DType::kF32) return borrow_aligned(checkpoint, name);
  const bool known =
      stored.type == DType::kBF16 || stored.type == DType::kF16 || stored.type == DType::kF8E8M0;
  require_data(
      known,
      "{}: block scales are {}, expected F32, BF16, F16 or F8_E8M0",
      in_folder(checkpoint, name),
      dtype_name(stored.type)
  );
  Tensor scales(DType::kF32, stored.shape);
  load_floats(stored.type, stored.data, stored.numel(), scales.as<float>().data());
  return scales;
}

bool block_is_zero(const QuantizedTensor& tensor, int64_t block) {
  const int64_t across = fp8_blocks(tensor.cols);
  const int64_t row0 = block / across * kFp8Block;
  const int64_t col0 = block % across * kFp8Block;
  const auto* codes = reinterpret_cast<const uint8_t*>(tensor.codes.view().data);
  for (int64_t r = row0; r < std::min(row0 + kFp8Block, tensor.rows); ++r) {
    for (int64_t c = col0; c < std::min(col0 + kFp8Block, tensor.cols); ++c) {
      if ((codes[r * tensor.cols + c] & 0x7FU) != 0) return false;
    }
  }
  return true;
}

// Positive and finite; 0 only where all codes are zero too (other encoders store amax / 448).
void check_scales(const QuantizedTensor& tensor, const std::string& where) {
  const Tensor& holder = tensor.block_scales;
  const std::span<const float> scales = holder.as<float>();
  const int64_t across = fp8_blocks(tensor.cols);
  for (int64_t b = 0; b < std::ssize(scales); ++b) {
    if (std::isfinite(scales[b]) && scales[b] > 0.0F) continue;
    require_data(
        scales[b] == 0.0F && block_is_zero(tensor, b),
        "{}: block scale [{}, {}] is {}, expected a positive finite number",
        where,
        b / across,
        b % across,
        scales[b]
    );
  }
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
  const Json* config = quantization_section(checkpoint);
  return config != nullptr && text_field(*config, "quant_method") == "fp8" &&
         config->contains("weight_block_size");
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
          checkpoint.contains(part_name(module, kWeight)),
          "{}: \"{}\" has no \"{}\"",
          checkpoint.folder().string(),
          name,
          part_name(module, kWeight)
      );
      continue;
    }
    if (!name.ends_with(kWeight) || checkpoint.tensor(name).type != DType::kF8E4M3) continue;
    const std::string module = name.substr(0, name.size() - kWeight.size());
    require_data(
        checkpoint.contains(part_name(module, kScale)),
        "{}: FP8 tensor \"{}\" has no \"{}\"",
        checkpoint.folder().string(),
        name,
        part_name(module, kScale)
    );
    modules.push_back(module);
  }
  return modules;
}

QuantizedTensor Fp8Dialect::read(const Checkpoint& checkpoint, const std::string& module) const {
  QuantizedTensor tensor;
  tensor.format = Format::kBlockFp8;
  tensor.activation = ActivationRule::kFp8Group128;
  tensor.codes = checkpoint.borrow(part_name(module, kWeight));
  tensor.block_scales = read_scales(checkpoint, part_name(module, kScale));
  const std::string where = in_folder(checkpoint, module);
  require_data(
      tensor.codes.shape().rank() == 2,
      "{}: weight must have rank 2, has {}",
      where,
      tensor.codes.shape().str()
  );
  tensor.rows = tensor.codes.shape().dim(0);
  tensor.cols = tensor.codes.shape().dim(1);
  tensor.validate(where);
  check_scales(tensor, where);
  return tensor;
}

std::vector<DialectPart> Fp8Dialect::parts(const QuantizedModule& module) const {
  using Kind = DialectPart::Kind;
  return {
      {Kind::kCodes,
       {part_name(module.module, kWeight), DType::kF8E4M3, Shape{module.rows, module.cols}}},
      {Kind::kBlockScales,
       {part_name(module.module, kScale),
        DType::kF32,
        Shape{fp8_blocks(module.rows), fp8_blocks(module.cols)}}}};
}

Json Fp8Dialect::quantization_config(
    std::span<const QuantizedModule> quantized, std::span<const std::string> unquantized
) const {
  const std::vector<std::string> ignored(unquantized.begin(), unquantized.end());
  Json config = Json::object();
  config["quant_method"] = "fp8";
  config["fmt"] = "e4m3";
  config["activation_scheme"] = "dynamic";
  config["weight_block_size"] = {kFp8Block, kFp8Block};
  const bool power_of_two =
      !quantized.empty() && std::ranges::all_of(quantized, [](const QuantizedModule& module) {
        return module.power_of_two_scales;
      });
  if (power_of_two) config["scale_fmt"] = "ue8m0";
  config["modules_to_not_convert"] = ignored;
  config["ignored_layers"] = ignored;
  return config;
}

std::vector<std::pair<std::string, Json>>
Fp8Dialect::extra_files(std::span<const QuantizedModule>, std::span<const std::string>) const {
  return {};
}

}  // namespace hone
