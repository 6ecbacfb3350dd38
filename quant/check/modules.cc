#include "quant/check/modules.h"

#include <algorithm>

namespace hone {
namespace {

Codes codes_of(const CheckedModule& module) {
  const SnapshotTensor* weight = module.weight();
  if (weight == nullptr) return Codes::kAbsent;
  switch (weight->entry->type) {
    case DType::kF8E4M3:
    case DType::kF8E5M2:
      return Codes::kFp8;
    case DType::kU8:
    case DType::kI8:
    case DType::kF4:
      return Codes::kPacked;
    default:
      return Codes::kDense;
  }
}

void measure(CheckedModule& module) {
  const SnapshotTensor* weight = module.weight();
  if (weight == nullptr || weight->entry->shape.rank() != 2) return;
  const Shape& shape = weight->entry->shape;
  module.rows = shape.dim(0);
  module.cols = shape.dim(1);
  if (module.codes == Codes::kPacked && weight->entry->type != DType::kF4) module.cols *= 2;
}

}  // namespace

const SnapshotTensor* CheckedModule::part(Part part) const {
  const auto it = parts.find(part);
  return it == parts.end() ? nullptr : it->second;
}

const SnapshotTensor* CheckedModule::weight() const {
  for (const Part p : {Part::kPackedWeight, Part::kWeight, Part::kBlocks}) {
    if (const SnapshotTensor* tensor = part(p)) return tensor;
  }
  return nullptr;
}

bool CheckedModule::consistent() const {
  if (!declared || declared->form == StoredForm::kForeign) return false;
  return codes == (packed_form(declared->form) ? Codes::kPacked : Codes::kFp8);
}

std::string CheckedModule::tensor(Part part) const {
  return name + std::string(part_suffix(part));
}

ModuleTable::ModuleTable(
    const Snapshot& snapshot, const Declaration& declared, std::string architecture
)
    : schema_(std::move(architecture), snapshot.names) {
  for (const std::string& tensor : snapshot.names) {
    std::optional<PartName> part = parse_part(tensor);
    if (!part) continue;
    const auto [it, fresh] = index_.emplace(part->module, modules_.size());
    if (fresh) {
      CheckedModule module;
      module.name = part->module;
      module.role = schema_.role(tensor);
      if (const ModuleInfo* info = schema_.find(module.name)) {
        module.role = info->role;
        module.layer = info->layer;
        module.fused_group = info->fused_group;
      }
      modules_.push_back(std::move(module));
    }
    modules_[it->second].parts.emplace(part->part, snapshot.find(tensor));
  }
  for (CheckedModule& module : modules_) {
    module.codes = codes_of(module);
    measure(module);
    // Engines call the fused layers by these names.
    const std::string fused = module.fused_group.empty() ? "" : module.fused_group + "_proj";
    const bool linear = module.role != Role::kNorm && module.role != Role::kEmbedding;
    if (linear) module.declared = declared.form_of(module.name, fused);
  }
  for (const CheckedModule& module : modules_) {
    if (!module.fused_group.empty()) groups_[module.fused_group].push_back(&module);
  }
  std::erase_if(groups_, [](const auto& group) { return group.second.size() < 2; });
}

const CheckedModule* ModuleTable::find(const std::string& name) const {
  const auto it = index_.find(name);
  return it == index_.end() ? nullptr : &modules_[it->second];
}

bool routed_expert(Role role) {
  return role == Role::kMoeGate || role == Role::kMoeUp || role == Role::kMoeDown ||
         role == Role::kMoeGateUp;
}

bool decoder_linear(Role role) {
  switch (role) {
    case Role::kAttnQ:
    case Role::kAttnK:
    case Role::kAttnV:
    case Role::kAttnO:
    case Role::kAttnQkv:
    case Role::kAttnQA:
    case Role::kAttnQB:
    case Role::kAttnKvA:
    case Role::kAttnKvB:
    case Role::kMlpGate:
    case Role::kMlpUp:
    case Role::kMlpDown:
    case Role::kMlpGateUp:
      return true;
    default:
      return routed_expert(role);
  }
}

}  // namespace hone
