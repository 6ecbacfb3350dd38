// Consumers of taps: what calibration keeps of the activations.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "calibrate/stats/stats.h"
#include "runtime/model/tap.h"

namespace hone {

// Input statistics of every linear module: amax, amax per channel, mean square per channel. Sums
// run over tokens in input order in float64, so results do not depend on threads; they depend on
// how sequences are batched only in the order of that sum.
class InputObserver : public TapSink {
 public:
  [[nodiscard]] bool wants(const TapPoint& point) const override;
  // Throws DataError naming the module when an activation is NaN or infinite.
  void on(const TapPoint& point, const TensorView& rows) override;

  // Adds what was seen to `stats` (rows of the modules are left to the caller).
  void finish(CalibrationStats& stats) const;

 private:
  struct Sums {
    int64_t tokens = 0;
    std::vector<float> amax;         // [cols]
    std::vector<double> square_sum;  // [cols]
  };
  std::map<std::string, Sums, std::less<>> modules_;
};

}  // namespace hone
