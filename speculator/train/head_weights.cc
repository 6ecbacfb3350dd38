#include "speculator/train/head_weights.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "core/base/error.h"
#include "core/base/rng.h"

namespace hone {

HeadWeights::HeadWeights(const Eagle3Config& config) {
  int64_t offset = 0;
  for (Eagle3Tensor& tensor : eagle3_tensors(config)) {
    parts_.push_back({tensor.name, tensor.shape, offset});
    offset += tensor.shape.numel();
  }
  values_.resize(static_cast<size_t>(offset));
  gradients_.resize(static_cast<size_t>(offset));
}

void HeadWeights::initialize(
    const Eagle3Config& config,
    const Tensor& target_lm_head,
    const std::vector<int32_t>& draft_to_target,
    uint64_t seed
) {
  const bool same_width = config.hidden == config.target_hidden;
  for (size_t i = 0; i < parts_.size(); ++i) {
    const Part& part = parts_[i];
    float* w = values_.data() + part.offset;
    const int64_t n = part.shape.numel();
    if (part.shape.rank() == 1) {
      std::fill_n(w, n, 1.0F);
      continue;
    }
    if (part.name == "lm_head.weight" && same_width) {
      const std::span<const float> rows = target_lm_head.as<float>();
      for (const int32_t id : draft_to_target)
        w = std::copy_n(rows.data() + id * config.hidden, config.hidden, w);
      continue;
    }
    Rng rng(seed, static_cast<uint32_t>(i));
    const bool into_residual =
        part.name.ends_with("o_proj.weight") || part.name.ends_with("down_proj.weight");
    double deviation = 1.0 / std::sqrt(static_cast<double>(part.cols()));
    if (into_residual) deviation *= 0.25;
    const bool fuse = part.name == "fc.weight" && same_width;
    if (fuse) deviation *= 0.1;
    for (int64_t k = 0; k < n; ++k) w[k] = static_cast<float>(deviation * rng.normal());
    if (!fuse) continue;
    const int64_t last = part.cols() - config.target_hidden;
    for (int64_t row = 0; row < part.rows(); ++row) w[row * part.cols() + last + row] += 1.0F;
  }
}

Eagle3Parameters<Var> HeadWeights::on_tape(Tape& tape) {
  Eagle3Parameters<Var> variables;
  const auto members = eagle3_members(variables);
  for (size_t i = 0; i < parts_.size(); ++i) {
    const Part& part = parts_[i];
    *members[i] = tape.parameter(
        values_.data() + part.offset, gradients_.data() + part.offset, part.rows(), part.cols()
    );
  }
  return variables;
}

Eagle3Parameters<Tensor> HeadWeights::tensors() const {
  Eagle3Parameters<Tensor> result;
  const auto members = eagle3_members(result);
  for (size_t i = 0; i < parts_.size(); ++i) {
    *members[i] = Tensor(DType::kF32, parts_[i].shape);
    std::copy_n(
        values_.data() + parts_[i].offset, parts_[i].shape.numel(), members[i]->as<float>().data()
    );
  }
  return result;
}

}  // namespace hone
