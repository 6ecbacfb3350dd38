// From logits to a token: temperature, top-k, top-p, min-p; draws keyed by (seed, choice,
// position).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hone {

// Per-request sampling options, OpenAI's names and meaning.
struct SamplingParams {
  float temperature = 0.0F;  // 0: greedy
  int32_t top_k = 0;         // 0: off
  float top_p = 1.0F;
  float min_p = 0.0F;  // relative to the largest probability
  uint64_t seed = 0;
};

// Throws UsageError naming the field when a value is out of range.
void validate(const SamplingParams& params);

// Greedy: the lowest id among the largest logits. NaN logits throw DataError.
int32_t argmax(std::span<const float> logits);

// The distribution after temperature and filters, as (id, probability) in descending probability
// (ties: ascending id); sums to 1. Filters apply in the order top-k, top-p, min-p as in vLLM's
// and Hugging Face's processors (all on the temperature-scaled distribution).
struct Candidate {
  int32_t id = 0;
  double probability = 0;
};
std::vector<Candidate> distribution(std::span<const float> logits, const SamplingParams& params);

// The token at `position` (absolute position of the new token) of choice `choice`. Inverse CDF over
// distribution(), with uniform(seed, choice, position): the same logits give the same token with or
// without speculation, alone or in a batch.
int32_t sample(
    std::span<const float> logits, const SamplingParams& params, uint32_t choice, uint64_t position
);

}  // namespace hone
