#include "runtime/model/draft/eagle3_checkpoint.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <string>

#include <fmt/ranges.h>

#include "core/format/load.h"
#include "core/io/checkpoint.h"
#include "core/io/safetensors.h"

namespace hone {
namespace {

constexpr const char* kArchitecture = "LlamaForCausalLMEagle3";
constexpr const char* kTapIds = "eagle_aux_hidden_state_layer_ids";

std::vector<int64_t> int_list(const Json& value, const std::string& what) {
  require_data(
      value.is_array() &&
          std::all_of(
              value.begin(), value.end(), [](const Json& v) { return v.is_number_integer(); }
          ),
      "{} is not a list of integers",
      what
  );
  return value.get<std::vector<int64_t>>();
}

// Refuses what would change the arithmetic silently.
void refuse_variants(const Json& config, const std::string& source) {
  const auto eagle = config.find("eagle_config");
  for (const char* flag : {"fc_norm", "norm_output", "norm_before_fc", "norm_before_residual"})
    for (const Json* place : {&config, eagle == config.end() ? &config : &*eagle}) {
      if (!place->is_object() || !place->contains(flag)) continue;
      const Json& value = (*place)[flag];
      require_data(
          value.is_null() || (value.is_boolean() && !value.get<bool>()),
          "{}: \"{}\" is set; this runtime computes plain EAGLE-3 heads only",
          source,
          flag
      );
    }
}

// The taps in our numbering (which is SpecForge's and SGLang's).
std::vector<int64_t> read_taps(const Json& config, const std::string& source, int64_t layers) {
  std::vector<int64_t> taps;
  const auto eagle = config.find("eagle_config");
  if (eagle != config.end() && eagle->is_object() && eagle->contains(kTapIds))
    taps = int_list((*eagle)[kTapIds], source + ": eagle_config." + kTapIds);
  if (config.contains(kTapIds) && !config[kTapIds].is_null()) {
    std::vector<int64_t> inputs = int_list(config[kTapIds], source + ": " + kTapIds);
    for (int64_t& id : inputs) --id;
    require_data(
        taps.empty() || taps == inputs,
        "{}: {} [{}] counts layer inputs, so it must be one above eagle_config's [{}]",
        source,
        kTapIds,
        fmt::join(config[kTapIds].get<std::vector<int64_t>>(), ", "),
        fmt::join(taps, ", ")
    );
    taps = inputs;
  }
  return taps.empty() ? default_eagle3_taps(layers) : taps;
}

Eagle3Config read_config(const Json& config, const std::string& source, int64_t target_layers) {
  const auto names = config.find("architectures");
  require_data(
      names != config.end() && names->is_array() && names->size() == 1 &&
          names->front() == kArchitecture,
      "{}: architectures is {}, expected [\"{}\"]: this is no EAGLE-3 head that Hone can run",
      source,
      names == config.end() ? "missing" : names->dump(),
      kArchitecture
  );
  refuse_variants(config, source);
  // The layer is a Llama layer: its sizes are read, and checked, where every model's are.
  Json llama = config;
  llama["architectures"] = Json::array({"LlamaForCausalLM"});
  const ModelConfig layer = ModelConfig::parse(llama, source);
  require_data(layer.layers == 1, "{}: num_hidden_layers is {}, expected 1", source, layer.layers);
  require_data(
      !layer.attention_bias && !layer.mlp_bias, "{}: biases are not supported in heads", source
  );
  Eagle3Config c;
  c.hidden = layer.hidden;
  c.target_hidden = json_int_or(config, "target_hidden_size", layer.hidden, source);
  c.intermediate = layer.intermediate;
  c.heads = layer.heads;
  c.kv_heads = layer.kv_heads;
  c.head_dim = layer.head_dim;
  c.vocab = layer.vocab;
  c.draft_vocab = json_int_or(config, "draft_vocab_size", layer.vocab, source);
  c.max_positions = layer.max_positions;
  c.rms_eps = layer.rms_eps;
  c.rope = layer.rope;
  c.dtype = layer.torch_dtype;
  c.taps = read_taps(config, source, target_layers);
  try {
    c.validate(target_layers);
  } catch (const UsageError& error) {
    throw DataError(fmt::format("{}: {}", source, error.what()));
  }
  return c;
}

// The name that the checkpoint uses for `canonical`, by its layer prefix.
std::string stored_name(const Checkpoint& checkpoint, const std::string& canonical) {
  constexpr std::string_view kPrefix = "midlayer.";
  if (!canonical.starts_with(kPrefix)) return canonical;
  const std::string other = "layers.0." + canonical.substr(kPrefix.size());
  return !checkpoint.contains(canonical) && checkpoint.contains(other) ? other : canonical;
}

// Reads one weight; its shape, dtype and values are checked.
Tensor read_weight(
    const Checkpoint& checkpoint,
    const std::string& name,
    const Shape& shape,
    std::set<std::string>& known
) {
  const std::string stored = stored_name(checkpoint, name);
  require_data(
      checkpoint.contains(stored),
      "{}: tensor {} is missing; a head without it drafts noise",
      checkpoint.folder().string(),
      name
  );
  known.insert(stored);
  const Tensor tensor = checkpoint.borrow(stored);
  require_data(
      tensor.shape() == shape,
      "{}: tensor {} is {}, config.json implies {}",
      checkpoint.folder().string(),
      stored,
      tensor.shape().str(),
      shape.str()
  );
  const DType type = tensor.type();
  require_data(
      type == DType::kF32 || type == DType::kBF16 || type == DType::kF16,
      "{}: tensor {} is {}, expected F32, BF16 or F16 (quantized heads are not supported)",
      checkpoint.folder().string(),
      stored,
      dtype_name(type)
  );
  std::vector<float> values(static_cast<size_t>(tensor.numel()));
  load_floats(type, tensor.bytes(), tensor.numel(), values.data());
  const auto bad =
      std::find_if(values.begin(), values.end(), [](float x) { return !std::isfinite(x); });
  require_data(
      bad == values.end(),
      "{}: tensor {} holds {} at element {}",
      checkpoint.folder().string(),
      stored,
      bad == values.end() ? 0.0F : *bad,
      bad - values.begin()
  );
  // A copy: the mapping may be misaligned for the kernels, and heads are small.
  return tensor.clone();
}

int64_t int64_at(const Tensor& tensor, int64_t i) {
  int64_t value = 0;
  std::memcpy(&value, tensor.bytes() + i * 8, 8);
  return value;
}

std::vector<int32_t> read_map(
    const Checkpoint& checkpoint, const Eagle3Config& c, std::set<std::string>& known
) {
  const std::string where = checkpoint.folder().string();
  std::vector<int32_t> map;
  if (!checkpoint.contains("d2t")) {
    require_data(
        c.draft_vocab == c.vocab,
        "{}: tensor d2t is missing although draft_vocab_size {} differs from vocab_size {}",
        where,
        c.draft_vocab,
        c.vocab
    );
    for (int32_t id = 0; id < c.vocab; ++id) map.push_back(id);
    return map;
  }
  known.insert("d2t");
  const Tensor d2t = checkpoint.borrow("d2t");
  require_data(
      d2t.type() == DType::kI64 && d2t.shape() == Shape{c.draft_vocab},
      "{}: d2t is {} {}, expected I64 [{}]",
      where,
      dtype_name(d2t.type()),
      d2t.shape().str(),
      c.draft_vocab
  );
  for (int64_t i = 0; i < c.draft_vocab; ++i) {
    // Offsets; the sum may not overflow whatever the file holds.
    const int64_t offset = int64_at(d2t, i);
    const bool inside = offset >= -i && offset < c.vocab - i;
    require_data(
        inside && (map.empty() || i + offset > map.back()),
        "{}: d2t[{}] = {} does not map into the {} target ids in ascending order (d2t holds "
        "offsets: "
        "target id - draft id)",
        where,
        i,
        offset,
        c.vocab
    );
    map.push_back(static_cast<int32_t>(i + offset));
  }
  return map;
}

// t2d is redundant; where it is stored it must agree.
void check_t2d(
    const Checkpoint& checkpoint,
    const Eagle3Config& c,
    const std::vector<int32_t>& map,
    std::set<std::string>& known
) {
  if (!checkpoint.contains("t2d")) return;
  known.insert("t2d");
  const Tensor t2d = checkpoint.borrow("t2d");
  require_data(
      t2d.type() == DType::kBool && t2d.shape() == Shape{c.vocab},
      "{}: t2d is {} {}, expected BOOL [{}]",
      checkpoint.folder().string(),
      dtype_name(t2d.type()),
      t2d.shape().str(),
      c.vocab
  );
  const std::set<int32_t> used(map.begin(), map.end());
  for (int64_t id = 0; id < c.vocab; ++id)
    require_data(
        (t2d.bytes()[id] != std::byte{0}) == used.contains(static_cast<int32_t>(id)),
        "{}: t2d and d2t disagree about target id {}",
        checkpoint.folder().string(),
        id
    );
}

Json config_document(const Eagle3Head& head) {
  const Eagle3Config& c = head.config;
  Json document;
  document["architectures"] = Json::array({kArchitecture});
  document["model_type"] = "llama";
  document["vocab_size"] = c.vocab;
  document["draft_vocab_size"] = c.draft_vocab;
  document["hidden_size"] = c.hidden;
  document["target_hidden_size"] = c.target_hidden;
  document["intermediate_size"] = c.intermediate;
  document["num_hidden_layers"] = 1;
  document["num_attention_heads"] = c.heads;
  document["num_key_value_heads"] = c.kv_heads;
  document["head_dim"] = c.head_dim;
  document["max_position_embeddings"] = c.max_positions;
  document["rms_norm_eps"] = c.rms_eps;
  document["rope_theta"] = c.rope.theta;
  document["rope_scaling"] = nullptr;
  if (c.rope.scaling == RopeScaling::kLinear)
    document["rope_scaling"] = {{"rope_type", "linear"}, {"factor", c.rope.factor}};
  if (c.rope.scaling == RopeScaling::kLlama3)
    document["rope_scaling"] = {
        {"rope_type", "llama3"},
        {"factor", c.rope.factor},
        {"low_freq_factor", c.rope.low_freq_factor},
        {"high_freq_factor", c.rope.high_freq_factor},
        {"original_max_position_embeddings", static_cast<int64_t>(c.rope.original_positions)}};
  document["hidden_act"] = "silu";
  document["attention_bias"] = false;
  document["mlp_bias"] = false;
  document["tie_word_embeddings"] = false;
  document["torch_dtype"] = torch_dtype_name(c.dtype);
  document["eagle_config"] = {{kTapIds, c.taps}, {"use_aux_hidden_state", true}};
  std::vector<int64_t> inputs = c.taps;
  for (int64_t& id : inputs) ++id;
  document[kTapIds] = inputs;
  document["hone_contract"] = head.contract->to_json();
  return document;
}

}  // namespace

Eagle3Head read_eagle3(const std::filesystem::path& folder, int64_t target_layers) {
  const auto checkpoint = Checkpoint::open(folder);
  const std::string source = (folder / "config.json").string();
  Eagle3Head head;
  head.config = read_config(checkpoint->config(), source, target_layers);
  std::set<std::string> known;
  const std::vector<Eagle3Tensor> tensors = eagle3_tensors(head.config);
  const auto members = eagle3_members(head.weights);
  for (size_t i = 0; i < tensors.size(); ++i)
    *members[i] = read_weight(*checkpoint, tensors[i].name, tensors[i].shape, known);
  head.draft_to_target = read_map(*checkpoint, head.config, known);
  check_t2d(*checkpoint, head.config, head.draft_to_target, known);
  if (checkpoint->contains("embed_tokens.weight"))
    head.embeddings = read_weight(
        *checkpoint, "embed_tokens.weight", {head.config.vocab, head.config.hidden}, known
    );
  require_data(
      head.embeddings || head.config.hidden == head.config.target_hidden,
      "{}: hidden_size {} differs from target_hidden_size {} and embed_tokens.weight is missing",
      source,
      head.config.hidden,
      head.config.target_hidden
  );
  for (const std::string& name : checkpoint->names())
    require_data(
        known.contains(name),
        "{}: tensor {} belongs to no EAGLE-3 head that this runtime computes; it would be ignored",
        folder.string(),
        name
    );
  if (const Json& config = checkpoint->config(); config.contains("hone_contract")) {
    head.contract = DraftContract::parse(config["hone_contract"], source);
    require_data(
        head.contract->taps == head.config.taps,
        "{}: the contract's taps [{}] are not those of eagle_config [{}]",
        source,
        fmt::join(head.contract->taps, ", "),
        fmt::join(head.config.taps, ", ")
    );
    require_data(
        head.contract->draft_vocab == head.config.draft_vocab &&
            head.contract->vocabulary_map_hash == hash_vocabulary_map(head.draft_to_target),
        "{}: d2t is not the vocabulary map that the contract names; the head's files do not belong "
        "together",
        source
    );
  }
  return head;
}

void write_eagle3(const Eagle3Head& head, const std::filesystem::path& folder) {
  check(head.contract.has_value(), "write_eagle3: a head without a contract");
  const Eagle3Config& c = head.config;
  std::map<std::string, Tensor> tensors;
  const std::vector<Eagle3Tensor> specs = eagle3_tensors(c);
  const auto members = eagle3_members(head.weights);
  for (size_t i = 0; i < specs.size(); ++i) {
    const Tensor& weight = *members[i];
    check(
        weight.shape() == specs[i].shape,
        "write_eagle3: {} is {}",
        specs[i].name,
        weight.shape().str()
    );
    std::vector<float> values(static_cast<size_t>(weight.numel()));
    load_floats(weight.type(), weight.bytes(), weight.numel(), values.data());
    Tensor stored(c.dtype, weight.shape());
    store_floats(c.dtype, values.data(), weight.numel(), stored.bytes());
    tensors[specs[i].name] = stored;
  }
  if (c.draft_vocab != c.vocab) {
    Tensor d2t(DType::kI64, {c.draft_vocab});
    Tensor t2d(DType::kBool, {c.vocab});
    for (int64_t i = 0; i < c.draft_vocab; ++i) {
      const int64_t id = head.draft_to_target[static_cast<size_t>(i)];
      d2t.as<int64_t>()[static_cast<size_t>(i)] = id - i;
      t2d.bytes()[id] = std::byte{1};
    }
    tensors["d2t"] = d2t;
    tensors["t2d"] = t2d;
  }
  write_safetensors(folder / "model.safetensors", tensors);
  write_json_file(folder / "config.json", config_document(head));
}

}  // namespace hone
