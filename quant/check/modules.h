// The modules of a snapshot: their parts on disk, and what the config promises for them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/io/part_names.h"
#include "quant/check/declaration.h"
#include "quant/check/snapshot.h"
#include "runtime/model/schema.h"

namespace hone {

// What the bytes of the weight are, by their dtype alone.
enum class Codes : uint8_t {
  kAbsent,  // scales or a bias only
  kDense,   // F32, BF16, F16, ...
  kFp8,     // F8_E4M3
  kPacked,  // U8, I8: two 4-bit codes
};

struct CheckedModule {
  std::string name;
  Role role = Role::kOther;
  int64_t layer = -1;
  std::string fused_group;  // runtime/model/schema.h; empty: alone
  std::map<Part, const SnapshotTensor*> parts;
  Codes codes = Codes::kAbsent;
  int64_t rows = 0;  // of a weight of rank 2, codes unpacked
  int64_t cols = 0;
  std::optional<DeclaredForm> declared;

  [[nodiscard]] const SnapshotTensor* part(Part part) const;
  // The tensor with the weight's bytes; nullptr: kAbsent.
  [[nodiscard]] const SnapshotTensor* weight() const;
  [[nodiscard]] bool quantized() const { return codes == Codes::kFp8 || codes == Codes::kPacked; }
  // Quantized as the config says: what the checks of parts and values may build on.
  [[nodiscard]] bool consistent() const;
  // "model.layers.0.mlp.up_proj.weight_scale"
  [[nodiscard]] std::string tensor(Part part) const;
};

class ModuleTable {
 public:
  ModuleTable(const Snapshot& snapshot, const Declaration& declared, std::string architecture);

  [[nodiscard]] const std::vector<CheckedModule>& modules() const { return modules_; }
  [[nodiscard]] const CheckedModule* find(const std::string& name) const;
  // Fused groups with at least two members, members in checkpoint order.
  [[nodiscard]] const std::map<std::string, std::vector<const CheckedModule*>>& groups() const {
    return groups_;
  }
  [[nodiscard]] const ModelSchema& schema() const { return schema_; }

 private:
  ModelSchema schema_;
  std::vector<CheckedModule> modules_;
  std::unordered_map<std::string, size_t> index_;
  std::map<std::string, std::vector<const CheckedModule*>> groups_;
};

// Linear layers of the decoder: those that every engine builds quantized when the config says so.
bool decoder_linear(Role role);
bool routed_expert(Role role);

}  // namespace hone
