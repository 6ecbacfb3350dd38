// The tensors that a checkpoint of a family has, with their shapes, from the sizes in config.json.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/model/config/dimensions.h"
#include "runtime/model/schema.h"

namespace hone {

// How the routed experts of a layer are stored.
enum class ExpertLayout : uint8_t {
  kNone,        // no routed experts
  kPerExpert,   // one matrix for each expert
  kFused,       // one tensor [experts, out, in]
  kFusedInOut,  // one tensor [experts, in, out]
};

// One tensor, or the same tensor of every expert of a layer.
struct ExpectedTensor {
  std::string name;            // kPerExpert: with "{}" where the expert's number stands
  std::vector<int64_t> shape;  // of one expert; matrices as [out, in]
  Role role = Role::kOther;
  int64_t layer = -1;
  ExpertLayout layout = ExpertLayout::kNone;
  int64_t experts = 1;
  bool f32 = false;  // stored in float32 whatever the dtype of the model
  bool mtp = false;  // of a prediction layer, which engines load only for speculation

  [[nodiscard]] int64_t numel() const;  // all experts
  [[nodiscard]] bool is_matrix() const { return shape.size() == 2; }
  [[nodiscard]] std::vector<std::string> names() const;
  // As stored: kFused and kFusedInOut with the experts in front, the latter [experts, in, out].
  [[nodiscard]] std::vector<int64_t> stored_shape() const;
};

// In the order of the model: embedding, layers, final norm, head, prediction layers, vision tower.
// Unquantized names: what a dialect stores instead of "X.weight" is the dialect's. Parts that
// `dimensions.notes` says are not counted are missing. Throws DataError naming the first tensor
// with more than 2^42 elements: no model has one, and sums stay far from overflow.
std::vector<ExpectedTensor> expected_tensors(const ModelDimensions& dimensions);

// Appended by expected_tensors(): image tower and projector.
void add_vision_tensors(const VisionDimensions& vision, std::vector<ExpectedTensor>& tensors);

}  // namespace hone
