// Gradients by central differences in float64, for the backward operations.
#pragma once

#include <functional>
#include <vector>

namespace hone::testing_op {

// d f / d x_i for every i: (f(x + h e_i) - f(x - h e_i)) / 2h.
inline std::vector<double> numeric_gradient(
    const std::function<double(const std::vector<double>&)>& f, std::vector<double> x, double h
) {
  std::vector<double> gradient(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const double kept = x[i];
    x[i] = kept + h;
    const double above = f(x);
    x[i] = kept - h;
    gradient[i] = (above - f(x)) / (2 * h);
    x[i] = kept;
  }
  return gradient;
}

// sum_i a_i * b_i: turns an output into a scalar whose gradient is `b`.
inline double weighted(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace hone::testing_op
