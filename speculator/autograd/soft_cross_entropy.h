// Cross-entropy against a teacher's distribution, on the tape (kernel: runtime/op/cross_entropy.h).
#pragma once

#include <cstdint>
#include <vector>

#include "speculator/autograd/tape.h"

namespace hone {

// loss = factor * sum over t of weights[t] * -(sum over v of q[rows[t], v] * log_softmax(z[t])[v]).
// z: [n, vocab] logits; teacher q: [positions, vocab]; rows, weights: [n]; row[t] is free where
// weights[t] is 0.
// dz = factor * weights[t] * (softmax(z[t]) - q[rows[t]]). When the tape records, the gradient
// takes the place of the logits at once: nothing else may read them.
struct SoftCrossEntropy {
  Var logits;
  const float* teacher = nullptr;
  int64_t positions = 0;
  std::vector<int32_t> rows;
  std::vector<float> weights;
  float factor = 1.0F;
};

struct SoftCrossEntropyResult {
  Var loss;                     // [1, 1]
  double weighted_sum = 0;      // sum over t of weights[t] * cross-entropy, without the factor
  double weight = 0;            // sum of weights
  std::vector<int32_t> argmax;  // [n] lowest index among the largest logits
};

// Throws InternalError for sizes or rows out of range.
SoftCrossEntropyResult soft_cross_entropy(Tape& tape, const SoftCrossEntropy& arguments);

}  // namespace hone
