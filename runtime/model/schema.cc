#include "runtime/model/schema.h"

#include <algorithm>
#include <map>
#include <numeric>

#include <fmt/ranges.h>

#include "core/base/error.h"
#include "runtime/model/config/dimensions.h"
#include "runtime/model/schema/patterns.h"

namespace hone {
namespace {

struct RoleName {
  Role role;
  std::string_view name;
};

constexpr RoleName kRoleNames[] = {
    {Role::kEmbedding, "embedding"},
    {Role::kLmHead, "lm_head"},
    {Role::kNorm, "norm"},
    {Role::kAttnQ, "attn.q"},
    {Role::kAttnK, "attn.k"},
    {Role::kAttnV, "attn.v"},
    {Role::kAttnO, "attn.o"},
    {Role::kAttnQkv, "attn.qkv"},
    {Role::kAttnQA, "attn.q_a"},
    {Role::kAttnQB, "attn.q_b"},
    {Role::kAttnKvA, "attn.kv_a"},
    {Role::kAttnKvB, "attn.kv_b"},
    {Role::kAttnGate, "attn.gate"},
    {Role::kAttnSinks, "attn.sinks"},
    {Role::kAttnIndexer, "attn.indexer"},
    {Role::kLinearAttn, "linear_attn"},
    {Role::kMlpGate, "mlp.gate"},
    {Role::kMlpUp, "mlp.up"},
    {Role::kMlpDown, "mlp.down"},
    {Role::kMlpGateUp, "mlp.gate_up"},
    {Role::kMoeRouter, "moe.router"},
    {Role::kMoeGate, "moe.gate"},
    {Role::kMoeUp, "moe.up"},
    {Role::kMoeDown, "moe.down"},
    {Role::kMoeGateUp, "moe.gate_up"},
    {Role::kMoeLatent, "moe.latent"},
    {Role::kResidual, "residual"},
    {Role::kMtp, "mtp"},
    {Role::kPosition, "position"},
    {Role::kVision, "vision"},
    {Role::kAudio, "audio"},
    {Role::kModulation, "modulation"},
    {Role::kCondition, "condition"},
    {Role::kProjectOut, "project_out"},
    {Role::kOther, "other"},
};

constexpr std::string_view kLlama = "LlamaForCausalLM";
constexpr std::string_view kLlamaAttention = "self_attn";
constexpr std::string_view kLlamaMlp = "mlp";
constexpr std::string_view kAttentionNorm = "input_layernorm";
constexpr std::string_view kMlpNorm = "post_attention_layernorm";

// What stands between "model.layers.N." and ".weight" in the layout of Llama.
struct LayerName {
  std::string_view parent;
  std::string_view leaf;
  Role role;
};

constexpr LayerName kLlamaLayer[] = {
    {kLlamaAttention, "q_proj", Role::kAttnQ},
    {kLlamaAttention, "k_proj", Role::kAttnK},
    {kLlamaAttention, "v_proj", Role::kAttnV},
    {kLlamaAttention, "o_proj", Role::kAttnO},
    {kLlamaMlp, "gate_proj", Role::kMlpGate},
    {kLlamaMlp, "up_proj", Role::kMlpUp},
    {kLlamaMlp, "down_proj", Role::kMlpDown},
};

Role llama_role(const NameParts& parts) {
  const auto starts = [&](std::initializer_list<std::string_view> words) {
    return parts.size() >= words.size() && std::equal(words.begin(), words.end(), parts.begin());
  };
  if (starts({"model", "embed_tokens"})) return Role::kEmbedding;
  if (starts({"lm_head"})) return Role::kLmHead;
  if (starts({"model", "norm"})) return Role::kNorm;
  if (!starts({"model", "layers"}) || layer_of(parts) < 0 || parts.size() < 4) return Role::kOther;
  if (parts[3] == kAttentionNorm || parts[3] == kMlpNorm) return Role::kNorm;
  if (parts.size() < 5) return Role::kOther;
  for (const LayerName& name : kLlamaLayer) {
    if (parts[3] == name.parent && parts[4] == name.leaf) return name.role;
  }
  return Role::kOther;
}

constexpr std::string_view kFirstQwen = "QWenLMHeadModel";
constexpr std::string_view kGptOss = "GptOssForCausalLM";
constexpr std::string_view kGpt2 = "GPT2LMHeadModel";

// Checked against real checkpoints though they are no family of config/dimensions.h.
constexpr std::string_view kAlsoChecked[] = {
    kGpt2, kFirstQwen, "MolmoForCausalLM", "T5EncoderModel", "FluxTransformer2DModel"};

Role classify(std::string_view architecture, bool diffusion, const NameParts& parts) {
  if (architecture == kLlama) return llama_role(parts);
  if (diffusion) return diffusion_role(parts);
  if (architecture == kFirstQwen) {
    // It calls the projection down c_proj, so that w1 and w2 are up and gate.
    if (std::ranges::find(parts, "w1") != parts.end()) return Role::kMlpUp;
    if (std::ranges::find(parts, "w2") != parts.end()) return Role::kMlpGate;
  }
  return decoder_role(parts);
}

// The group of modules that read one input and are stored as one matrix by engines.
std::string_view group_suffix(Role role) {
  switch (role) {
    case Role::kAttnQ:
    case Role::kAttnK:
    case Role::kAttnV:
      return ".qkv";
    case Role::kAttnQA:
    case Role::kAttnKvA:
      return ".qkv_a";
    case Role::kMlpGate:
    case Role::kMlpUp:
    case Role::kMoeGate:
    case Role::kMoeUp:
      return ".gate_up";
    default:
      return "";
  }
}

// Module of a weight tensor's name; empty when it is none.
std::string_view module_of(std::string_view tensor) {
  for (const std::string_view suffix : {".weight", ".weight_packed", ".qweight"}) {
    if (tensor.ends_with(suffix)) return tensor.substr(0, tensor.size() - suffix.size());
  }
  return {};
}

}  // namespace

std::string_view role_name(Role role) {
  const auto* it = std::ranges::find(kRoleNames, role, &RoleName::role);
  check(it != std::end(kRoleNames), "role {} has no name", static_cast<int>(role));
  return it->name;
}

std::optional<Role> parse_role(std::string_view name) {
  const auto* it = std::ranges::find(kRoleNames, name, &RoleName::name);
  if (it == std::end(kRoleNames)) return std::nullopt;
  return it->role;
}

ModelSchema::ModelSchema(std::string architecture, const std::vector<std::string>& names)
    : architecture_(std::move(architecture)) {
  diffusion_ = std::ranges::any_of(names, [](const std::string& name) {
    return is_diffusion_name(split_name(name));
  });
  fallback_ = !family_of_architecture(architecture_) &&
              std::ranges::find(kAlsoChecked, architecture_) == std::end(kAlsoChecked);
  std::map<std::string, int> members;
  for (const std::string& name : names) {
    const std::string_view module = module_of(name);
    if (module.empty() || index_.contains(std::string(module))) continue;
    ModuleInfo info;
    info.module = module;
    const NameParts parts = split_name(name);
    info.role = classify(architecture_, diffusion_, parts);
    if (info.role == Role::kNorm) continue;
    if (info.role != Role::kVision) info.layer = layer_of(parts);
    const std::string_view suffix = group_suffix(info.role);
    if (!suffix.empty()) {
      const std::string_view stream = diffusion_ && is_added_stream(parts) ? ".add" : "";
      info.fused_group =
          fmt::format("{}{}{}", info.module.substr(0, info.module.rfind('.')), stream, suffix);
      ++members[info.fused_group];
    }
    index_.emplace(info.module, modules_.size());
    modules_.push_back(std::move(info));
  }
  for (ModuleInfo& info : modules_) {
    if (!info.fused_group.empty() && members[info.fused_group] < 2) info.fused_group.clear();
  }
}

Role ModelSchema::role(std::string_view tensor) const {
  return classify(architecture_, diffusion_, split_name(tensor));
}

const ModuleInfo* ModelSchema::find(std::string_view module) const {
  const auto it = index_.find(std::string(module));
  return it == index_.end() ? nullptr : &modules_[it->second];
}

std::optional<FusedStorage> ModelSchema::fused_storage(std::string_view tensor) const {
  const NameParts parts = split_name(tensor);
  const Role role = classify(architecture_, diffusion_, parts);
  const auto has = [&](std::string_view word) {
    return std::ranges::find(parts, word) != parts.end();
  };
  FusedStorage storage;
  if (role == Role::kAttnQkv) {
    // GPT-NeoX and its kin turn q, k and v over head by head: no row ranges.
    if (has("query_key_value") || has("qkv_packed")) return std::nullopt;
    storage.parts = {Role::kAttnQ, Role::kAttnK, Role::kAttnV};
    if (has("linear1")) storage.parts.push_back(Role::kMlpUp);
    storage.in_out = architecture_ == kGpt2;
    return storage;
  }
  if (role == Role::kMlpGateUp) {
    storage.parts = {Role::kMlpGate, Role::kMlpUp};
    // OLMo and Molmo put what is multiplied first and what goes through the activation second.
    if (has("ff_proj")) std::swap(storage.parts[0], storage.parts[1]);
    return storage;
  }
  const bool routed = role == Role::kMoeGate || role == Role::kMoeUp || role == Role::kMoeDown ||
                      role == Role::kMoeGateUp;
  if (!routed) return std::nullopt;
  const auto experts = std::ranges::find(parts, "experts");
  const bool numbered = experts != parts.end() && experts + 1 != parts.end() &&
                        (experts + 1)->find_first_not_of("0123456789") == std::string_view::npos;
  if (numbered && role != Role::kMoeGateUp) return std::nullopt;
  storage.experts = !numbered;
  storage.parts = {role};
  if (role == Role::kMoeGateUp) storage.parts = {Role::kMoeGate, Role::kMoeUp};
  const bool oss = architecture_ == kGptOss;
  storage.interleaved = oss && role == Role::kMoeGateUp;
  // MXFP4 blocks of GPT-OSS run along the input axis, so these have the outputs first.
  const bool blocks = parts.back().ends_with("_blocks") || parts.back().ends_with("_scales");
  storage.in_out = (oss && !blocks && !parts.back().ends_with("_bias")) ||
                   architecture_ == "Llama4ForConditionalGeneration" ||
                   architecture_ == "Qwen3VLMoeForConditionalGeneration";
  return storage;
}

std::vector<SplitPart> split_rows(
    const FusedStorage& storage, int64_t rows, const std::vector<int64_t>& qkv_rows
) {
  std::vector<SplitPart> parts;
  const auto n = static_cast<int64_t>(storage.parts.size());
  const bool qkv = n >= 3;
  const int64_t known = std::accumulate(qkv_rows.begin(), qkv_rows.end(), int64_t{0});
  if (qkv) {
    require_data(
        qkv_rows.size() == 3 && (n == 3 ? known == rows : known < rows),
        "a matrix of {} rows cannot be split into q, k and v of {} rows",
        rows,
        fmt::join(qkv_rows, ", ")
    );
  } else {
    require_data(rows % n == 0, "a matrix of {} rows cannot be split into {} equal parts", rows, n);
  }
  int64_t begin = 0;
  for (int64_t i = 0; i < n; ++i) {
    SplitPart part;
    part.role = storage.parts[static_cast<size_t>(i)];
    part.rows = !qkv ? rows / n : (i < 3 ? qkv_rows[static_cast<size_t>(i)] : rows - known);
    part.begin = storage.interleaved ? i : begin;
    part.step = storage.interleaved ? n : 1;
    begin += part.rows;
    parts.push_back(part);
  }
  return parts;
}

namespace decoder_names {

std::string layer_module(int64_t layer, Role role) {
  const auto* it = std::ranges::find(kLlamaLayer, role, &LayerName::role);
  check(it != std::end(kLlamaLayer), "{} is no module of a decoder layer", role_name(role));
  return fmt::format("model.layers.{}.{}.{}", layer, it->parent, it->leaf);
}

std::string attention_norm(int64_t layer) {
  return fmt::format("model.layers.{}.{}", layer, kAttentionNorm);
}

std::string mlp_norm(int64_t layer) {
  return fmt::format("model.layers.{}.{}", layer, kMlpNorm);
}

}  // namespace decoder_names
}  // namespace hone
