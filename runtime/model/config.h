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

// How rope_theta's frequencies are stretched for longer contexts.
enum class RopeScaling : uint8_t {
  kNone,
  kLinear,  // every frequency divided by `factor`
  kLlama3,  // low frequencies divided, high kept, a smooth step between (Llama 3.1)
};

// Rotary embedding: angle(position, i) = position * inverse_frequency(i), i < head_dim / 2.
struct RopeConfig {
  double theta = 10000.0;
  RopeScaling scaling = RopeScaling::kNone;
  double factor = 1.0;
  // kLlama3 only.
  double low_freq_factor = 1.0;
  double high_freq_factor = 4.0;
  double original_positions = 8192;

  // [head_dim / 2] inverse frequencies, scaling applied; computed in double.
  [[nodiscard]] std::vector<double> inverse_frequencies(int64_t head_dim) const;
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
  std::vector<int32_t> eos_ids;  // from config.json; add_generation_config() may add to them
  int32_t bos_id = -1;

  // Throws DataError naming the file and field: unknown architecture (lists the known ones),
  // unknown rope type or activation, sizes that do not divide, missing fields.
  static ModelConfig parse(const Json& config, const std::string& source);
  // Adds the end ids of generation_config.json (and its bos id where config.json has none).
  void add_generation_config(const Json& config, const std::string& source);
};

// What every config.json says, with or without a forward pass for its architecture.
struct ConfigIdentity {
  // First of "architectures", or diffusers' "_class_name"; empty when there is none.
  std::string architecture_name;
  std::string model_type;        // empty when missing
  bool tied_embeddings = false;  // also of a nested text_config
  bool tie_said = false;         // tie_word_embeddings is there at all
  // 0: not said.
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t experts = 0;  // routed experts of a layer
  int64_t experts_per_token = 0;
  int64_t mtp_layers = 0;  // multi-token prediction layers behind the last

  // Throws DataError naming `source` when a field has another type.
  static ConfigIdentity parse(const Json& config, const std::string& source);
};

// Entries of config.json's "architectures" that have a forward pass, in alphabetical order.
std::vector<std::string> known_architectures();

}  // namespace hone
