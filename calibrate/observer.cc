#include "calibrate/observer.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/base/threads.h"

namespace hone {

bool InputObserver::wants(const TapPoint& point) const {
  return point.kind == TapKind::kLinearInput;
}

void InputObserver::on(const TapPoint& point, const TensorView& rows) {
  const int64_t count = rows.shape.dim(0);
  const int64_t cols = rows.shape.dim(1);
  auto it = modules_.find(point.module);
  if (it == modules_.end()) it = modules_.emplace(std::string(point.module), Sums{}).first;
  Sums& sums = it->second;
  sums.amax.resize(static_cast<size_t>(cols));
  sums.square_sum.resize(static_cast<size_t>(cols));
  const float* x = rows.as<float>().data();
  ThreadPool::global().parallel_for(cols, 256, [&](int64_t begin, int64_t end) {
    for (int64_t row = 0; row < count; ++row) {
      const float* values = x + row * cols;
      for (int64_t c = begin; c < end; ++c) {
        const auto i = static_cast<size_t>(c);
        sums.amax[i] = std::max(sums.amax[i], std::fabs(values[c]));
        sums.square_sum[i] += static_cast<double>(values[c]) * static_cast<double>(values[c]);
      }
    }
  });
  sums.tokens += count;
  // NaN never wins std::max above, but it stays in the sum.
  for (int64_t c = 0; c < cols; ++c) {
    require_data(
        std::isfinite(sums.square_sum[static_cast<size_t>(c)]),
        "input channel {} of {} became NaN or infinite on the calibration corpus",
        c,
        point.module
    );
  }
}

void InputObserver::finish(CalibrationStats& stats) const {
  for (const auto& [name, sums] : modules_) {
    ModuleStats& module = stats.modules[name];
    module.cols = static_cast<int64_t>(sums.amax.size());
    module.tokens = sums.tokens;
    module.input_amax = sums.amax.empty() ? 0.0F : *std::ranges::max_element(sums.amax);
    module.input_channel_amax = sums.amax;
    module.input_mean_square.resize(sums.square_sum.size());
    for (size_t c = 0; c < sums.square_sum.size(); ++c) {
      module.input_mean_square[c] = sums.square_sum[c] / static_cast<double>(sums.tokens);
    }
  }
}

}  // namespace hone
