#include "runtime/model/config.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include <fmt/ranges.h>

#include "core/base/error.h"

namespace hone {
namespace {

struct KnownArchitecture {
  std::string_view name;
  Architecture architecture;
};

constexpr KnownArchitecture kKnown[] = {
    {"LlamaForCausalLM", Architecture::kLlama},
};

// No published decoder comes near; keeps later products (vocab * hidden) far from overflow.
constexpr int64_t kMaxDimension = 1 << 24;

std::string architecture_of(const Json& config, const std::string& source) {
  const auto it = config.find("architectures");
  require_data(
      it != config.end() && it->is_array() && !it->empty() && it->front().is_string(),
      "{}: field \"architectures\" is missing or no list of names; expected for instance [\"{}\"]",
      source,
      kKnown[0].name
  );
  return it->front().get<std::string>();
}

int64_t dimension(int64_t value, std::string_view key, const std::string& source) {
  require_data(
      value >= 1 && value <= kMaxDimension,
      "{}: field \"{}\" is {}, expected 1 to {}",
      source,
      key,
      value,
      kMaxDimension
  );
  return value;
}

int64_t read_dimension(const Json& config, std::string_view key, const std::string& source) {
  return dimension(json_int(config, key, source), key, source);
}

// Token ids are written as one number or as a list.
std::vector<int32_t> read_ids(const Json& config, std::string_view key, const std::string& source) {
  std::vector<int32_t> ids;
  const auto it = config.find(key);
  if (it == config.end() || it->is_null()) return ids;
  const Json list = it->is_array() ? *it : Json::array({*it});
  for (const Json& item : list) {
    require_data(
        item.is_number_integer() && item.get<int64_t>() >= 0 &&
            item.get<int64_t>() <= std::numeric_limits<int32_t>::max(),
        "{}: field \"{}\" holds {}, expected token ids",
        source,
        key,
        item.dump()
    );
    ids.push_back(item.get<int32_t>());
  }
  return ids;
}

double positive(double value, std::string_view key, const std::string& source) {
  require_data(
      std::isfinite(value) && value > 0,
      "{}: field \"{}\" is {}, expected a positive number",
      source,
      key,
      value
  );
  return value;
}

// Transformers 4 writes rope_theta and rope_scaling, Transformers 5 one object rope_parameters.
RopeConfig read_rope(const Json& config, const std::string& source) {
  RopeConfig rope;
  const Json* object = nullptr;
  for (const std::string_view key : {"rope_parameters", "rope_scaling"}) {
    const auto it = config.find(key);
    if (it == config.end() || it->is_null()) continue;
    require_data(it->is_object(), "{}: field \"{}\" is no object", source, key);
    object = &*it;
    break;
  }
  rope.theta = json_number_or(config, "rope_theta", rope.theta, source);
  if (object != nullptr) {
    rope.theta = json_number_or(*object, "rope_theta", rope.theta, source);
    // "type" is the older spelling.
    const std::string old_type = json_string_or(*object, "type", "default", source);
    const std::string type = json_string_or(*object, "rope_type", old_type, source);
    if (type == "linear") {
      rope.scaling = RopeScaling::kLinear;
      rope.factor = positive(json_number(*object, "factor", source), "factor", source);
    } else if (type == "llama3") {
      rope.scaling = RopeScaling::kLlama3;
      const auto field = [&](std::string_view key) {
        return positive(json_number(*object, key, source), key, source);
      };
      rope.factor = field("factor");
      rope.low_freq_factor = field("low_freq_factor");
      rope.high_freq_factor = field("high_freq_factor");
      rope.original_positions = field("original_max_position_embeddings");
      require_data(
          rope.high_freq_factor > rope.low_freq_factor,
          "{}: high_freq_factor is {}, expected more than low_freq_factor {}",
          source,
          rope.high_freq_factor,
          rope.low_freq_factor
      );
    } else {
      require_data(
          type == "default",
          "{}: rope type \"{}\" is not supported; known are default, linear, llama3",
          source,
          type
      );
    }
  }
  positive(rope.theta, "rope_theta", source);
  return rope;
}

DType read_dtype(const Json& config, const std::string& source) {
  // Transformers 5 renamed torch_dtype.
  const std::string old_name = json_string_or(config, "torch_dtype", "bfloat16", source);
  const std::string name = json_string_or(config, "dtype", old_name, source);
  for (const DType type : {DType::kBF16, DType::kF16, DType::kF32}) {
    if (torch_dtype_name(type) == name) return type;
  }
  throw DataError(
      fmt::format("{}: torch_dtype is \"{}\", expected bfloat16, float16 or float32", source, name)
  );
}

void check_heads(const ModelConfig& model, const std::string& source) {
  require_data(
      model.heads % model.kv_heads == 0,
      "{}: num_attention_heads {} is no multiple of num_key_value_heads {}",
      source,
      model.heads,
      model.kv_heads
  );
  require_data(
      model.head_dim % 2 == 0,
      "{}: head_dim is {}, expected an even number (rotary embedding turns pairs)",
      source,
      model.head_dim
  );
}

}  // namespace

std::vector<double> RopeConfig::inverse_frequencies(int64_t head_dim) const {
  std::vector<double> result(static_cast<size_t>(head_dim / 2));
  for (size_t i = 0; i < result.size(); ++i) {
    double f = std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(head_dim));
    if (scaling == RopeScaling::kLinear) f /= factor;
    if (scaling == RopeScaling::kLlama3) {
      const double wavelength = 2.0 * std::numbers::pi / f;
      const double ratio = original_positions / wavelength;
      if (ratio < low_freq_factor) {
        f /= factor;
      } else if (ratio <= high_freq_factor) {
        const double s = (ratio - low_freq_factor) / (high_freq_factor - low_freq_factor);
        f = (1.0 - s) * f / factor + s * f;
      }
    }
    result[i] = f;
  }
  return result;
}

std::vector<std::string> known_architectures() {
  std::vector<std::string> names;
  for (const KnownArchitecture& known : kKnown) names.emplace_back(known.name);
  return names;
}

ModelConfig ModelConfig::parse(const Json& config, const std::string& source) {
  require_data(config.is_object(), "{}: expected a JSON object", source);
  ModelConfig model;
  model.architecture_name = architecture_of(config, source);
  const auto* known = std::ranges::find(kKnown, model.architecture_name, &KnownArchitecture::name);
  require_data(
      known != std::end(kKnown),
      "{}: architecture \"{}\" has no forward pass here; known are {}",
      source,
      model.architecture_name,
      fmt::join(known_architectures(), ", ")
  );
  model.architecture = known->architecture;

  model.vocab = read_dimension(config, "vocab_size", source);
  model.hidden = read_dimension(config, "hidden_size", source);
  model.intermediate = read_dimension(config, "intermediate_size", source);
  model.layers = read_dimension(config, "num_hidden_layers", source);
  model.heads = read_dimension(config, "num_attention_heads", source);
  model.kv_heads = dimension(
      json_int_or(config, "num_key_value_heads", model.heads, source), "num_key_value_heads", source
  );
  const auto head_dim = config.find("head_dim");
  if (head_dim == config.end() || head_dim->is_null()) {
    require_data(
        model.hidden % model.heads == 0,
        "{}: hidden_size {} is no multiple of num_attention_heads {} and there is no head_dim",
        source,
        model.hidden,
        model.heads
    );
    model.head_dim = model.hidden / model.heads;
  } else {
    model.head_dim = read_dimension(config, "head_dim", source);
  }
  check_heads(model, source);
  model.max_positions = read_dimension(config, "max_position_embeddings", source);
  model.rms_eps = positive(json_number(config, "rms_norm_eps", source), "rms_norm_eps", source);
  model.rope = read_rope(config, source);

  const std::string activation = json_string_or(config, "hidden_act", "silu", source);
  require_data(
      activation == "silu" || activation == "swish",
      "{}: hidden_act is \"{}\", expected \"silu\"",
      source,
      activation
  );
  model.tied_embeddings = json_bool_or(config, "tie_word_embeddings", false, source);
  model.attention_bias = json_bool_or(config, "attention_bias", false, source);
  model.mlp_bias = json_bool_or(config, "mlp_bias", false, source);
  model.torch_dtype = read_dtype(config, source);
  model.eos_ids = read_ids(config, "eos_token_id", source);
  const std::vector<int32_t> bos = read_ids(config, "bos_token_id", source);
  if (!bos.empty()) model.bos_id = bos.front();
  return model;
}

void ModelConfig::add_generation_config(const Json& config, const std::string& source) {
  require_data(config.is_object(), "{}: expected a JSON object", source);
  for (const int32_t id : read_ids(config, "eos_token_id", source)) {
    if (std::ranges::find(eos_ids, id) == eos_ids.end()) eos_ids.push_back(id);
  }
  const std::vector<int32_t> bos = read_ids(config, "bos_token_id", source);
  if (bos_id < 0 && !bos.empty()) bos_id = bos.front();
}

ConfigIdentity ConfigIdentity::parse(const Json& config, const std::string& source) {
  require_data(config.is_object(), "{}: expected a JSON object", source);
  ConfigIdentity identity;
  const auto names = config.find("architectures");
  if (names != config.end() && names->is_array() && !names->empty()) {
    require_data(names->front().is_string(), "{}: architectures[0] is no string", source);
    identity.architecture_name = names->front().get<std::string>();
  } else {
    identity.architecture_name = json_string_or(config, "_class_name", "", source);
  }
  identity.model_type = json_string_or(config, "model_type", "", source);
  // Some families have lists there, one number for each layer: not said.
  const auto read_first =
      [](int64_t& field, const Json& part, std::initializer_list<std::string_view> keys) {
        for (const std::string_view key : keys) {
          const auto it = part.find(key);
          if (field == 0 && it != part.end() && it->is_number_integer()) field = it->get<int64_t>();
        }
      };
  const auto read = [&](const Json& part) {
    identity.tied_embeddings |= json_bool_or(part, "tie_word_embeddings", false, source);
    identity.tie_said |= part.contains("tie_word_embeddings");
    if (identity.layers == 0) identity.layers = json_int_or(part, "num_hidden_layers", 0, source);
    read_first(identity.heads, part, {"num_attention_heads"});
    read_first(identity.kv_heads, part, {"num_key_value_heads"});
    read_first(identity.experts, part, {"n_routed_experts", "num_local_experts", "num_experts"});
    read_first(
        identity.experts_per_token,
        part,
        {"num_experts_per_tok", "num_experts_per_token", "moe_topk", "top_k_experts"}
    );
    read_first(identity.mtp_layers, part, {"num_nextn_predict_layers", "mtp_num_hidden_layers"});
  };
  read(config);
  const auto text = config.find("text_config");
  if (text != config.end() && text->is_object()) read(*text);
  return identity;
}

}  // namespace hone
