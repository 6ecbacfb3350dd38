// The weights of a head in training: one flat float32 vector, with gradients of the same layout.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/tensor/tensor.h"
#include "runtime/model/draft/eagle3_config.h"
#include "speculator/autograd/tape.h"

namespace hone {

class HeadWeights {
 public:
  explicit HeadWeights(const Eagle3Config& config);

  // Starting point: norms 1; lm_head the rows of the target's lm_head [vocab, hidden] f32 that the
  // draft vocabulary names; fc passes the last tap on (identity) where the widths agree; the rest
  // normal with deviation 1 / sqrt(inputs), projections back into the residual stream a quarter of
  // it. The head starts as a guess from the target's own late features instead of noise.
  void initialize(
      const Eagle3Config& config,
      const Tensor& target_lm_head,
      const std::vector<int32_t>& draft_to_target,
      uint64_t seed
  );

  // Parameters on a tape; gradients add to gradients().
  Eagle3Parameters<Var> on_tape(Tape& tape);
  // Copies as f32 tensors.
  [[nodiscard]] Eagle3Parameters<Tensor> tensors() const;

  [[nodiscard]] std::vector<float>& values() { return values_; }
  [[nodiscard]] const std::vector<float>& values() const { return values_; }
  [[nodiscard]] std::vector<float>& gradients() { return gradients_; }
  // One weight's place in the vectors.
  struct Part {
    std::string name;
    Shape shape;
    int64_t offset = 0;
    [[nodiscard]] int64_t rows() const { return shape.rank() == 2 ? shape.dim(0) : 1; }
    [[nodiscard]] int64_t cols() const { return shape.dim(-1); }
  };
  [[nodiscard]] const std::vector<Part>& parts() const { return parts_; }

 private:
  std::vector<Part> parts_;
  std::vector<float> values_;
  std::vector<float> gradients_;
};

}  // namespace hone
