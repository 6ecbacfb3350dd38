// A small random EAGLE-3 head for tests.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

#include "core/base/rng.h"
#include "runtime/model/draft/eagle3_checkpoint.h"

namespace hone::testing_draft {

inline Tensor random_tensor(Shape shape, uint64_t seed, double deviation, double mean = 0) {
  Tensor tensor(DType::kF32, std::move(shape));
  Rng rng(seed);
  for (float& x : tensor.as<float>()) x = static_cast<float>(mean + deviation * rng.normal());
  return tensor;
}

// Hidden 32, 4 heads over 2, draft vocabulary 20 of 50 (the even ids), target of 6 layers.
inline Eagle3Head small_head(uint64_t seed = 1) {
  Eagle3Head head;
  Eagle3Config& config = head.config;
  config.hidden = 32;
  config.target_hidden = 32;
  config.intermediate = 48;
  config.heads = 4;
  config.kv_heads = 2;
  config.head_dim = 8;
  config.vocab = 50;
  config.draft_vocab = 20;
  config.max_positions = 128;
  config.taps = {0, 2, 4};
  config.dtype = DType::kF32;
  const auto specs = eagle3_tensors(config);
  const auto members = eagle3_members(head.weights);
  for (size_t i = 0; i < specs.size(); ++i) {
    const bool norm = specs[i].shape.rank() == 1;
    const double deviation =
        norm ? 0.2 : 1.0 / std::sqrt(static_cast<double>(specs[i].shape.dim(-1)));
    *members[i] = random_tensor(specs[i].shape, seed * 100 + i, deviation, norm ? 1 : 0);
  }
  for (int32_t i = 0; i < 20; ++i) head.draft_to_target.push_back(2 * i);
  DraftContract contract;
  contract.taps = config.taps;
  contract.draft_vocab = 20;
  contract.vocabulary_map_hash = hash_vocabulary_map(head.draft_to_target);
  contract.target = {"content", "base", 50, 32, 6};
  head.contract = contract;
  return head;
}

}  // namespace hone::testing_draft
