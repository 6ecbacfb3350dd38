#include "runtime/op/activation_quant.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/threads.h"
#include "core/format/activation.h"

namespace hone {
namespace {

// Elements that are worth a thread of their own.
constexpr int64_t kGrain = 1 << 15;

}  // namespace

void quantize_activations(
    const ActivationQuant& options, std::span<const float> x, int64_t dim, std::span<float> y
) {
  require(
      dim > 0 && x.size() % static_cast<size_t>(dim) == 0 && x.size() == y.size(),
      "quantize_activations: x has {} and y {} elements, expected whole rows of {}",
      x.size(),
      y.size(),
      dim
  );
  require(
      !needs_input_scale(options.rule) || options.input_scale.has_value(),
      "quantize_activations: {} activations need the layer's calibrated input scale",
      activation_rule_name(options.rule)
  );
  if (x.data() != y.data()) std::copy(x.begin(), x.end(), y.begin());
  if (options.rule == ActivationRule::kNone) return;

  const int64_t rows = static_cast<int64_t>(x.size()) / dim;
  Fp8ActivationRule fp8;
  fp8.power_of_two = options.ue8m0_scale;
  ThreadPool::global().parallel_for(rows, kGrain / dim + 1, [&](int64_t r0, int64_t r1) {
    float* rows_begin = y.data() + r0 * dim;
    switch (options.rule) {
      case ActivationRule::kNone:
        return;
      case ActivationRule::kFp8Group128:
        return round_fp8_activations(rows_begin, r1 - r0, dim, fp8);
      case ActivationRule::kNvfp4:
        return round_nvfp4_activations(rows_begin, r1 - r0, dim, options.input_scale->multiplier());
      case ActivationRule::kFp8Token:
        return round_fp8_token_activations(rows_begin, r1 - r0, dim);
      case ActivationRule::kFp8Tensor:
        return round_fp8_tensor_activations(
            rows_begin, (r1 - r0) * dim, options.input_scale->multiplier()
        );
      case ActivationRule::kMxfp4:
        return round_mx_activations(rows_begin, r1 - r0, dim, Format::kMxfp4);
      case ActivationRule::kMxfp8:
        return round_mx_activations(rows_begin, r1 - r0, dim, Format::kMxfp8);
    }
  });
}

}  // namespace hone
