// Scales chosen by the error they cause, among those the format can store.
//
// The error of a block under a scale s is sum_j w[j] (x[j] - decode(encode(x[j] / s)))^2 with the
// weights w of the columns: all 1, or what the inputs of the layer measured (column_weights()), so
// that the sum stands for the error of the layer's output.
//
//   nvfp4      kMse: the least error over all 126 positive E4M3 codes, found exactly: codes that
//              cannot be best are skipped (search_kernels.cc). Among equals the smallest.
//              kFourOverSix: the largest element becomes 6 or 4, whichever errs less.
//              The global scale comes from global_scale_candidates(), one for the fused group.
//   fp8-block  kMse, float scales: amax / 448 times 14/16, 15/16, ..., 31/16; E4M3 repeats its grid
//              with every factor of two. Power-of-two scales: the amax rule's, half and twice it.
//   mxfp4,     kMse: the scale that clamps nothing (MxScaleRule::kCeil), its half and its quarter.
//   mxfp8
//   fp8-channel, fp8-tensor: amax only.
// Sources: Four Over Six, arXiv 2512.02010; exhaustive sweeps as in NVIDIA Model Optimizer's
// fp8_scale_sweep.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/format/row_slab.h"
#include "quant/scheme.h"

namespace hone {

enum class ScaleChoice : uint8_t { kAmax, kMse, kFourOverSix };
// "amax", "mse", "4over6".
std::string_view scale_choice_name(ScaleChoice choice);
// UsageError for unknown names.
ScaleChoice parse_scale_choice(std::string_view name);
// Why the choice is not there for a format; empty: it is.
std::string_view refuses(ScaleChoice choice, Format format);

// Weights of the columns from the mean squares of the layer's inputs (calibrate/stats): divided by
// their mean, and at least 1e-4 so that inputs which calibration never saw still count. Empty for
// an empty span or one that is all zero.
std::vector<float> column_weights(std::span<const double> input_mean_square);

struct SearchOptions {
  Format format = Format::kNvfp4;
  ScaleChoice choice = ScaleChoice::kMse;  // not kAmax
  ScaleKind scale_kind = ScaleKind::kF32;  // kBlockFp8
  float global_scale = 1.0F;               // kNvfp4
  std::span<const float> weights = {};     // [cols], positive, or empty: all 1
};

// As rtn_encode(), with searched block scales. UsageError when refuses() gives a reason, or for
// weights of another number than columns.
std::optional<NonFinite> search_encode(
    const RowSlab& slab,
    const SearchOptions& options,
    std::byte* codes,
    std::byte* block_scales,
    ThreadPool& pool
);

// Global scales to compare for a tensor or fused group with this amax, the amax rule's first.
// kMse: the largest block gets the codes 448, 416, ..., 256 (an octave of E4M3; further ones repeat
// its grid). kFourOverSix and formats without a choice: one.
std::vector<float> global_scale_candidates(Format format, ScaleChoice choice, float amax);

// Adds to `sum` the errors of rows r of the slab with (slab.row0 + r) % row_step == 0 under
// options.global_scale, each block with its best scale; row by row, so that sums depend on neither
// slabs nor threads. kNvfp4 only; the slab must be finite.
void add_search_error(
    const RowSlab& slab,
    const SearchOptions& options,
    int64_t row_step,
    ThreadPool& pool,
    double& sum
);

}  // namespace hone
