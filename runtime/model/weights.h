// Reads the weights of one model out of a checkpoint: shapes checked, NaN and Inf refused.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/io/checkpoint.h"
#include "core/io/dialect.h"
#include "runtime/model/linear.h"
#include "runtime/model/model.h"

namespace hone {

// What a linear layer must look like.
struct LinearShape {
  int64_t rows = 0;  // outputs
  int64_t cols = 0;  // inputs
  bool bias = false;
};

// Every getter throws DataError naming folder and tensor: missing, wrong shape or dtype, or a
// value that is NaN or infinite (with its place). Weights stay borrowed from the mapping.
class WeightReader {
 public:
  WeightReader(std::shared_ptr<const Checkpoint> checkpoint, Profile profile);

  // "<module>.weight" of a norm, widened.
  std::vector<float> vector(const std::string& module, int64_t size);
  // "<module>.weight" of an embedding [rows, cols] F32, BF16 or F16, as stored.
  Tensor table(const std::string& module, int64_t rows, int64_t cols);
  // A dense or quantized linear layer, with what `profile` makes of its activation rule and, on
  // Blackwell, of its block-FP8 scales.
  Linear linear(const std::string& module, int64_t layer, const LinearShape& shape);

  // Throws DataError naming tensors that no getter has asked for: a bias or a layer that the
  // architecture does not have would be dropped silently. Frequencies of rotary embeddings and
  // scales of quantized KV caches are expected leftovers.
  void check_all_used() const;
  // Counts a tensor as asked for (lm_head beside tied embeddings).
  void ignore(const std::string& tensor) { used_.insert(tensor); }

  [[nodiscard]] const Checkpoint& checkpoint() const { return *checkpoint_; }

 private:
  TensorView find(const std::string& name, const Shape& shape);
  LinearWeight quantized(
      const std::string& module, const LinearShape&, ActivationQuant& activation
  );
  [[nodiscard]] std::string where() const;

  std::shared_ptr<const Checkpoint> checkpoint_;
  Profile profile_;
  const Dialect* dialect_ = nullptr;
  std::set<std::string> quantized_;
  std::set<std::string> used_;
  std::set<Format> unpacked_;  // formats without a kernel that were reported
};

// Index of the first NaN or infinite element of a tensor, or -1. Any float dtype of checkpoints,
// FP8 and E8M0 included; other dtypes have none. Threaded.
int64_t first_non_finite(const TensorView& tensor);

}  // namespace hone
