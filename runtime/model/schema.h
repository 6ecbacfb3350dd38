// Tensor names of an architecture: roles, fused groups, inputs. The only file that knows them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/json.h"

namespace hone {

// What a tensor does. Printed as "attn.q", "mlp.down", "moe.router", ...
enum class Role : uint8_t {
  kEmbedding,
  kLmHead,
  kNorm,
  kAttnQ,
  kAttnK,
  kAttnV,
  kAttnO,
  kAttnQkv,
  kMlpGate,
  kMlpUp,
  kMlpDown,
  kMlpGateUp,
  kMoeRouter,
  kMoeGate,
  kMoeUp,
  kMoeDown,
  kVision,
  kOther,
};
std::string_view role_name(Role role);
// Inverse; nullopt for unknown names.
std::optional<Role> parse_role(std::string_view name);

// One weight matrix that a linear layer multiplies with.
struct ModuleInfo {
  std::string module;  // "model.layers.3.self_attn.q_proj"
  Role role = Role::kOther;
  int64_t layer = -1;  // -1: outside the decoder layers
  // Members of one group read the same input and are fused by engines, so they must share a global
  // scale and never be split by a plan: "model.layers.3.self_attn.qkv". Empty: alone.
  std::string fused_group;
};

// Classifies the names of a checkpoint. `names` are tensor names; `architecture` is the first
// entry of config.json's "architectures". Unknown architectures fall back to name patterns.
class ModelSchema {
 public:
  ModelSchema(std::string architecture, const std::vector<std::string>& names);

  // Linear modules in checkpoint order (every "<module>.weight" of rank 2 by name; the caller
  // checks ranks).
  [[nodiscard]] const std::vector<ModuleInfo>& modules() const { return modules_; }
  // Role of any tensor name (norms, biases, scales included).
  [[nodiscard]] Role role(std::string_view tensor) const;
  [[nodiscard]] const ModuleInfo* find(std::string_view module) const;

 private:
  std::string architecture_;
  std::vector<ModuleInfo> modules_;
};

}  // namespace hone
