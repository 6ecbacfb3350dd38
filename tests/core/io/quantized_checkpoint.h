// Small quantized checkpoints: written through a dialect, or tensor by tensor for broken ones.
#pragma once

#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/threads.h"
#include "core/format/block_fp8.h"
#include "core/format/fp8_scaled.h"
#include "core/format/mx.h"
#include "core/format/nvfp4.h"
#include "core/io/checkpoint.h"
#include "core/io/dialect.h"
#include "core/io/dialect_compressed_tensors.h"
#include "core/io/dialect_fp8.h"
#include "core/io/dialect_gpt_oss.h"
#include "core/io/dialect_modelopt.h"
#include "tests/core/io/temp_folder.h"

namespace hone {

struct NamedModule {
  std::string name;
  QuantizedTensor tensor;
};

inline QuantizedModule description(const NamedModule& module) {
  const QuantizedTensor& tensor = module.tensor;
  return {
      .module = module.name,
      .format = tensor.format,
      .activation = tensor.activation,
      .rows = tensor.rows,
      .cols = tensor.cols};
}

inline Tensor ramp(int64_t rows, int64_t cols) {
  Tensor matrix(DType::kF32, {rows, cols});
  float value = -1.0F;
  for (float& x : matrix.as<float>()) x = (value += 0.37F) > 1.0F ? (value -= 2.0F) : value;
  return matrix;
}

// A ramp in any format, with an input scale where the activations need one.
inline NamedModule encoded(
    const std::string& name, Format format, ActivationRule activation, int64_t rows, int64_t cols
) {
  ThreadPool pool(1);
  const Tensor matrix = ramp(rows, cols);
  const float amax = slab_amax(RowSlab::of(matrix.view()), pool).amax;
  NamedModule module{name, {}};
  switch (format) {
    case Format::kBlockFp8:
      module.tensor = quantize_block_fp8(matrix.view(), {}, name, pool);
      break;
    case Format::kNvfp4:
      module.tensor = quantize_nvfp4(matrix.view(), nvfp4_global_scale(amax), name, pool);
      break;
    case Format::kFp8Channel:
      module.tensor = quantize_fp8_channel(matrix.view(), name, pool);
      break;
    case Format::kFp8Tensor:
      module.tensor = quantize_fp8_tensor(matrix.view(), fp8_scale(amax), name, pool);
      break;
    case Format::kMxfp4:
    case Format::kMxfp8:
      module.tensor = quantize_mx(matrix.view(), {format, MxScaleRule::kFloor}, name, pool);
      break;
  }
  module.tensor.activation = activation;
  if (needs_input_scale(activation))
    module.tensor.input_scale = GlobalScale{nvfp4_global_scale(37.0F), false};
  return module;
}

inline void write_with(
    const Dialect& dialect,
    const std::filesystem::path& folder,
    const std::vector<NamedModule>& modules,
    const std::vector<std::string>& unquantized,
    KvCacheFormat kv_cache = KvCacheFormat::kNone
) {
  std::vector<QuantizedModule> descriptions;
  std::map<std::string, Tensor> tensors;
  for (const NamedModule& module : modules) {
    descriptions.push_back(description(module));
    for (const DialectPart& part : dialect.parts(descriptions.back())) {
      Tensor bytes(part.spec.type, part.spec.shape);
      switch (part.kind) {
        case DialectPart::Kind::kCodes:
          bytes = module.tensor.codes;
          break;
        case DialectPart::Kind::kBlockScales:
          std::memcpy(
              bytes.bytes(),
              module.tensor.block_scales.view().data,
              static_cast<size_t>(bytes.nbytes())
          );
          break;
        case DialectPart::Kind::kGlobalScale:
          bytes.as<float>()[0] =
              part.divisor ? module.tensor.global.reciprocal() : module.tensor.global.multiplier();
          break;
        case DialectPart::Kind::kInputScale:
          bytes.as<float>()[0] = part.divisor ? module.tensor.input_scale->reciprocal()
                                              : module.tensor.input_scale->multiplier();
          break;
      }
      tensors[part.spec.name] = bytes;
    }
  }
  std::filesystem::create_directories(folder);
  write_safetensors(folder / "model.safetensors", tensors);
  Json config = Json::object();
  config["model_type"] = "toy";
  config["quantization_config"] =
      dialect.quantization_config({descriptions, unquantized, kv_cache});
  write_json_file(folder / "config.json", config);
  for (const auto& [name, document] : dialect.extra_files({descriptions, unquantized, kv_cache})) {
    write_json_file(folder / name, document);
  }
}

// Tensors and config as given.
inline std::shared_ptr<const Checkpoint> checkpoint_of(
    const std::filesystem::path& folder,
    const std::map<std::string, Tensor>& tensors,
    const Json& quantization
) {
  std::filesystem::create_directories(folder);
  write_safetensors(folder / "model.safetensors", tensors);
  write_json_file(folder / "config.json", Json{{"quantization_config", quantization}});
  return Checkpoint::open(folder);
}

inline bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.type() == b.type() && a.shape() == b.shape() &&
         std::memcmp(a.view().data, b.view().data, static_cast<size_t>(a.nbytes())) == 0;
}

}  // namespace hone
