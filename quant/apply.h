// Executes a plan: checkpoint in, checkpoint out, streaming.
//
// Tensors are written in the order of the source; a quantized one becomes its dialect's parts at
// the same place, a kept one is copied byte for byte. Formats with a global scale read the members
// of a fused group once for their shared amax (and again where the global scale is searched), just
// before the first of them is encoded. Memory is bounded by a few row slabs plus the block scales
// of one tensor (1/32 of a BF16 tensor for NVFP4). The output depends on nothing but source, plan
// and options: not on threads or slab size.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/io/checkpoint.h"
#include "core/io/dialect.h"
#include "quant/method/scale_search.h"
#include "quant/plan.h"

namespace hone {

struct ApplyOptions {
  ScaleKind scale_kind = ScaleKind::kF32;     // block FP8
  std::map<std::string, float> input_scales;  // by module; quant/input_scale.h
  ScaleChoice scale = ScaleChoice::kAmax;     // quant/method/scale_search.h
  // Weights of a module's columns in the search, by module; modules without are searched
  // unweighted.
  std::map<std::string, std::vector<float>> column_weights;
  int64_t max_shard_bytes = 5'000'000'000;
  int64_t slab_bytes = int64_t{8} << 20;
};

// What the linear modules of the output are: the lists that its quantization_config is made of.
struct OutputModules {
  std::vector<QuantizedModule> quantized;  // with those that were stored quantized and stay
  std::vector<std::string> unquantized;    // "lm_head" is always in one of the two lists
};
OutputModules output_modules(const Plan& plan);

// Writes all tensors, config.json (with quantization_config), the dialect's further files and the
// side files of the source. The returned writer is closed but not committed: the caller may add
// files and then commit(). README.md and Hone's own manifests are not copied: they speak of the
// source.
// Throws DataError: NaN or infinite weights (file, tensor, index), a full disk; UsageError: a
// module with quantized activations without an input scale; Cancelled. Nothing stays on the disk
// then.
std::unique_ptr<CheckpointWriter> apply_plan(
    const Checkpoint& source,
    const Plan& plan,
    const std::filesystem::path& output,
    const ApplyOptions& options
);

}  // namespace hone
