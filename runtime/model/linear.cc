#include "runtime/model/linear.h"

#include "core/base/error.h"
#include "runtime/op/add.h"

namespace hone {

Linear::Linear(LinearParts parts) : parts_(std::move(parts)) {
  check(
      parts_.bias.empty() || static_cast<int64_t>(parts_.bias.size()) == parts_.weight.n(),
      "{}: bias of {} for {} outputs",
      parts_.module,
      parts_.bias.size(),
      parts_.weight.n()
  );
}

void Linear::forward(const LinearCall& call, std::span<const float> x, std::span<float> y) const {
  if (call.taps != nullptr) {
    const TapPoint point{
        .kind = TapKind::kLinearInput, .layer = parts_.layer, .module = parts_.module};
    if (call.taps->wants(point)) {
      const int64_t rows = static_cast<int64_t>(x.size()) / in();
      call.taps->on(
          point,
          {.type = DType::kF32,
           .shape = {rows, in()},
           .data = reinterpret_cast<const std::byte*>(x.data())}
      );
    }
  }
  multiply(call, x, y);
}

void Linear::multiply(const LinearCall& call, std::span<const float> x, std::span<float> y) const {
  std::span<const float> input = x;
  if (parts_.activation.rule != ActivationRule::kNone) {
    call.scratch->resize(x.size());
    quantize_activations(parts_.activation, x, in(), *call.scratch);
    input = *call.scratch;
  }
  const Tensor* replacement = nullptr;
  if (call.overrides != nullptr) {
    const auto it = call.overrides->find(parts_.module);
    if (it != call.overrides->end()) replacement = &it->second;
  }
  if (replacement != nullptr) {
    matmul(LinearWeight::dense(*replacement), input, y);
  } else {
    matmul(parts_.weight, input, y);
  }
  if (!parts_.bias.empty()) add_bias(parts_.bias, y);
}

Tensor Linear::dense() const {
  Tensor result(DType::kF32, {out(), in()});
  parts_.weight.decode_rows(0, out(), result.as<float>());
  return result;
}

}  // namespace hone
