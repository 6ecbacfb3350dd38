// Error bounds of float32 arithmetic, derived, in one place.
//
// u = 2^-24 is the unit roundoff. A sum of n float32 terms in which every term passes through at
// most d additions has |error| <= d * u * sum |terms| to first order (Higham, "Accuracy and
// Stability of Numerical Algorithms", 2nd ed., chapter 4); bounds below multiply by 1.01 for the
// higher orders (d * u < 0.01 everywhere).
#pragma once

#include <cmath>
#include <cstdint>

namespace hone::reference {

inline constexpr double kUnitRoundoff = 0x1p-24;
inline constexpr double kHigherOrders = 1.01;

// Additions that one product of the canonical order (runtime/op/matmul.h) passes through: its
// lane's chain in a block, the lane tree, the chain of blocks.
inline double canonical_depth(int64_t k) {
  const int64_t block = k < 1024 ? k : 1024;
  return std::ceil(static_cast<double>(block) / 16.0) + 4.0 +
         std::ceil(static_cast<double>(k) / 1024.0);
}

// Dot product of length k in the canonical order; `norm` = sum_k |x_k * w_k|.
inline double dot_tolerance(int64_t k, double norm) {
  return kHigherOrders * canonical_depth(k) * kUnitRoundoff * norm;
}

// `roundings` correctly rounded operations in a row on a result of size |value|.
inline double chain_tolerance(double roundings, double value) {
  return kHigherOrders * roundings * kUnitRoundoff * std::fabs(value) + 0x1p-149;
}

// runtime/op/exp.h: at most 1 ulp = 2 u relative (normal results).
inline constexpr double kExpRelative = 2.0 * kUnitRoundoff;

// One softmax probability p of n entries whose logits have magnitude up to `magnitude`:
// x - m rounds once (absolute error u * 2 * magnitude, which exp turns into a relative one), exp,
// the sum (n/16 + 4 additions of positive terms), the division.
inline double softmax_tolerance(int64_t n, double magnitude, double p) {
  const double depth = std::ceil(static_cast<double>(n) / 16.0) + 4.0;
  const double relative = (4.0 * magnitude + depth + 2.0) * kUnitRoundoff + 2.0 * kExpRelative;
  return kHigherOrders * relative * p + 0x1p-126;
}

// One output of attention over n keys: score error (dot of head_dim with `score_norm` =
// max_j scale * sum |q k_j|, one more rounding for the scale) enters the probabilities twice
// (numerator and sum); the online softmax rescales n/32 times (one exp and one product each); the
// weighted sum adds n terms in a chain. `value_norm` = sum_j p_j |v_j|.
inline double attention_tolerance(
    int64_t n, int64_t head_dim, double score_norm, double value_norm
) {
  const double tiles = std::ceil(static_cast<double>(n) / 32.0);
  const double score = (canonical_depth(head_dim) + 4.0) * kUnitRoundoff * score_norm;
  const double rescale = tiles * (kExpRelative + 2.0 * kUnitRoundoff * (1.0 + score_norm));
  const double sum = (static_cast<double>(n) + tiles + 8.0) * kUnitRoundoff;
  return kHigherOrders * (2.0 * score + 2.0 * rescale + 2.0 * sum + 4.0 * kExpRelative) *
             value_norm +
         0x1p-126;
}

// Sizes of a decoder whose logits are compared.
struct ForwardSizes {
  int64_t layers = 0;
  int64_t hidden = 0;
  int64_t attention = 0;  // heads * head_dim
  int64_t intermediate = 0;
  int64_t keys = 0;  // longest attention
};

// A logit of a float32 forward pass against exact arithmetic. `norm` = |final hidden| * |lm_head
// row| bounds the last product. Every layer passes its stream through products over `hidden`
// (q/k/v, gate/up, and o over `attention`) and `intermediate` terms and an attention over `keys`;
// rounding errors of that many operations in any order add up at random, and 8 sqrt(operations)
// unit roundoffs cover them (probabilistic bound, Higham and Mary, SIAM J. Sci. Comput. 41, 2019).
inline double forward_tolerance(const ForwardSizes& s, double norm) {
  const double per_layer =
      static_cast<double>(3 * s.hidden + s.attention + s.intermediate + 2 * s.keys) + 64.0;
  const double operations =
      static_cast<double>(s.layers) * per_layer + static_cast<double>(s.hidden);
  return 8.0 * std::sqrt(operations) * kUnitRoundoff * norm;
}

// Against an implementation that rounds rotary frequencies and angles to float32 (transformers):
// at `position` every pair is turned by up to 2 * position * u more, which moves a logit by at most
// that part of its bound.
inline double float_rope_tolerance(int64_t position, double norm) {
  return 2.0 * static_cast<double>(position) * kUnitRoundoff * norm;
}

// Central difference of a smooth function computed in float64 with step h: truncation
// h^2/6 * |f'''| and cancellation 2^-52 * |f| / h, plus the float32 error of the gradient itself.
inline double finite_difference_tolerance(double h, double third, double value, double gradient) {
  return h * h / 6.0 * third + 0x1p-50 * value / h + 64.0 * kUnitRoundoff * gradient;
}

}  // namespace hone::reference
