// AdamW with gradient clipping, and the learning rate's schedule.
#pragma once

#include <cstdint>
#include <vector>

namespace hone {

// Linear warm-up to `peak`, then a cosine to peak * floor at the last step.
struct LearningRate {
  double peak = 1e-3;
  double warmup = 0.03;  // share of all steps
  double floor = 0.02;
  int64_t steps = 1;
  // Of step 0, 1, ..., steps - 1.
  [[nodiscard]] double at(int64_t step) const;
};

struct AdamWOptions {
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
  double weight_decay = 0.0;  // of matrices; norms are not decayed
  double clip_norm = 0.5;     // of the whole gradient; 0: off
};

// Loshchilov and Hutter, "Decoupled weight decay regularization" (ICLR 2019), with bias correction:
//   m = b1 m + (1 - b1) g,  v = b2 v + (1 - b2) g^2
//   w -= rate (m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps) + weight_decay w)
// The gradient is scaled by min(1, clip_norm / |g|) first. Element-wise, so independent of threads;
// |g| has one fixed order.
class AdamW {
 public:
  // decayed[i] != 0: weight decay applies to element i.
  AdamW(AdamWOptions options, std::vector<uint8_t> decayed);

  // Updates w with the gradient g (which is left as it was); returns |g|. t counts from 1.
  double step(std::vector<float>& w, const std::vector<float>& g, double rate, int64_t t);

  [[nodiscard]] std::vector<float>& first_moment() { return m_; }
  [[nodiscard]] std::vector<float>& second_moment() { return v_; }

 private:
  AdamWOptions options_;
  std::vector<uint8_t> decayed_;
  std::vector<float> m_;
  std::vector<float> v_;
};

}  // namespace hone
