// Distances between the distributions of two rows of logits, for evaluation.
//
// With P = softmax(p) and Q = softmax(q), in float64 throughout (exponentials included):
//   kl = sum_i P_i (log P_i - log Q_i)   tv = 1/2 sum_i |P_i - Q_i|
// Equal logits give exactly 0; rounding below 0 is clamped to 0.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hone {

// Distance of one row pair.
struct RowDistance {
  double kl = 0;             // nats; +inf where Q gives 0 to what P allows
  double tv = 0;             // in [0, 1]
  double entropy = 0;        // of P, nats
  bool top1_agrees = false;  // same argmax (lowest id wins ties)
  int32_t top1_p = 0;
  int32_t top1_q = 0;
};

// p (reference), q (candidate): [rows, dim] f32. DataError naming the row for NaN or +inf logits,
// UsageError on sizes.
std::vector<RowDistance> row_distances(
    std::span<const float> p, std::span<const float> q, int64_t dim
);

// log softmax(logits[t])[ids[t]] in float64; logits: [rows, dim]. Errors as above, and UsageError
// for ids outside [0, dim).
std::vector<double> token_log_probs(
    std::span<const float> logits, int64_t dim, std::span<const int32_t> ids
);

}  // namespace hone
