// What reading the bytes of scales and codes shows: one streaming pass over everything asked for.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "quant/check/modules.h"
#include "quant/check/snapshot.h"

namespace hone {

// Elements of one tensor; indices are -1 when there is none.
struct TensorContents {
  int64_t first_nan = -1;  // NaN, and infinities of formats that have them
  int64_t first_negative = -1;
  int64_t first_zero = -1;
  int64_t first_not_power_of_two = -1;  // F32, BF16 and F16 scales
  bool all_zero = false;
};

struct Contents {
  bool scales = false;
  bool codes = false;
  std::unordered_map<std::string, TensorContents> tensors;

  [[nodiscard]] const TensorContents* find(const std::string& tensor) const;
};

struct ContentsRequest {
  bool scales = false;  // block scales of quantized modules
  bool codes = false;   // codes and dense weights
};

// Reads on all threads of the pool; memory is bounded by a few megabytes for each thread, since
// pages are released when they were seen. Throws Cancelled.
Contents read_contents(
    const Snapshot& snapshot, const ModuleTable& modules, const ContentsRequest& request
);

}  // namespace hone
