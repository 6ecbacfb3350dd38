// Sensitivity: how far the model's distribution moves when one module alone is quantized.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "calibrate/stats/stats.h"
#include "core/format/quantized_tensor.h"
#include "runtime/model/model.h"

namespace hone {

struct SensitivityOptions {
  std::vector<Format> formats = {Format::kNvfp4};
  // Reference logits kept at a time; bounds memory for large vocabularies.
  int64_t logit_bytes = 256 << 20;
};

// For every fused group (or lone module) and format: replaces the weights by their amax round trip
// (weights only; members of a group share the global scale, as quantization will do), runs
// the sequences teacher-forced and records the mean KL(reference || trial) per token and its
// standard error over sequences under `stats.modules[group]`. lm_head, embeddings and routers are
// not tried. Modules whose shape the format cannot hold are skipped.
void measure_sensitivity(
    Model& model,
    std::span<const std::vector<int32_t>> sequences,
    const SensitivityOptions& options,
    CalibrationStats& stats
);

}  // namespace hone
