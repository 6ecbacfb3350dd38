// config.json, read once: the only file that knows its keys.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/json/json.h"
#include "core/tensor/dtype.h"

namespace hone {

// Architectures with a forward pass. (Weight-only quantization needs none.)
enum class Architecture : uint8_t { kLlama };

struct RopeConfig {
  double theta = 10000.0;
};

// Hyper-parameters of a decoder-only transformer.
struct ModelConfig {
  Architecture architecture = Architecture::kLlama;
  std::string architecture_name;  // "LlamaForCausalLM"
  int64_t vocab = 0;
  int64_t hidden = 0;
  int64_t intermediate = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  int64_t max_positions = 0;
  double rms_eps = 1e-5;
  RopeConfig rope;
  bool tied_embeddings = false;
  bool attention_bias = false;
  bool mlp_bias = false;
  DType torch_dtype = DType::kBF16;
  std::vector<int32_t> eos_ids;  // from config.json; generation_config.json may add to them
  int32_t bos_id = -1;

  // Throws DataError naming the file and field: unknown architecture (lists the known ones),
  // unknown rope type or activation, sizes that do not divide, missing fields.
  static ModelConfig parse(const Json& config, const std::string& source);
};

}  // namespace hone
