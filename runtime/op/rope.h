// Rotary position embedding, rotate-half form (GPT-NeoX, Llama in Hugging Face layout).
//
// With h = rotary_dim / 2 and angle a = position * inv_freq[i]:
//   y[i]     = x[i] * cos(a) - x[i + h] * sin(a)
//   y[i + h] = x[i + h] * cos(a) + x[i] * sin(a)        i in [0, h)
// Elements from rotary_dim on stay as they are.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hone {

// inv_freq[i] = theta^(-2 i / rotary_dim), i in [0, rotary_dim / 2).
std::vector<double> rope_inv_freq(int64_t rotary_dim, double theta);

// Cosines and sines of the rows of one forward call: computed once, used by every layer.
struct RopeRows {
  int64_t rows = 0;
  int64_t half = 0;        // rotary_dim / 2
  std::vector<float> cos;  // [rows, half], rounded from float64
  std::vector<float> sin;  // [rows, half]
};

// Angles in float64. `attention_factor` multiplies cosines and sines (YaRN); 1 elsewhere.
RopeRows rope_rows(
    std::span<const double> inv_freq,
    std::span<const int64_t> positions,
    double attention_factor = 1.0
);

// Rotates in place. x: [rows, heads, head_dim] f32; heads = x.size() / (rows * head_dim).
// UsageError when head_dim < 2 * table.half or sizes do not divide.
void rope(const RopeRows& table, int64_t head_dim, std::span<float> x);
// Gradient: the inverse rotation, in place on dy.
void rope_backward(const RopeRows& table, int64_t head_dim, std::span<float> dy);

}  // namespace hone
