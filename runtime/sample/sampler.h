// From logits to a token: temperature, top-k, top-p, min-p; draws keyed by (seed, choice,
// position).
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace hone {

// Per-request sampling options, OpenAI's names and meaning.
struct SamplingParams {
  float temperature = 0.0F;  // 0: greedy
  int32_t top_k = 0;         // 0 or -1: off
  float top_p = 1.0F;
  float min_p = 0.0F;  // relative to the largest probability
  uint64_t seed = 0;
  bool operator==(const SamplingParams&) const = default;
};

// Throws UsageError naming the field when a value is out of range.
void validate(const SamplingParams& params);

// Greedy: the lowest id among the largest logits. Throws DataError naming the id for NaN and +inf
// logits, and when all are -inf; so do the functions below.
int32_t argmax(std::span<const float> logits);

// The distribution after temperature and filters, as (id, probability) in descending probability
// (ties: ascending id), without zeros; sums to 1. In float64:
//   w_i = exp((logit_i - max) / temperature)
//   top-k: the k first; top-p: those before which less than top_p of the remaining mass lies;
//   min-p: those with w_i >= min_p * max w. Applied in this order, as Hugging Face does.
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

// Log-probabilities of the model itself (temperature 1, no filters), as OpenAI's logprobs.
struct LogProbs {
  double chosen = 0;                            // of the given id
  std::vector<std::pair<int32_t, double>> top;  // the `count` most likely, descending
};
LogProbs log_probs(std::span<const float> logits, int32_t id, int count);

}  // namespace hone
