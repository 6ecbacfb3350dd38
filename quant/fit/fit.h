// Does a model fit on a set of GPUs: weights, caches and reserves, from config.json alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "quant/fit/gpu_catalog.h"
#include "quant/fit/weight_format.h"
#include "runtime/model/config/dimensions.h"

namespace hone {

// Bytes on each GPU that are neither weights nor cache. Defaults are on the careful side of what
// engines report at start-up (docs/fit.md).
struct FitReserves {
  // What the driver keeps of the memory it reports, the CUDA context, loaded kernels.
  int64_t context = int64_t{1} << 30;
  // GEMM and attention workspaces, captured graphs.
  int64_t workspace = int64_t{1} << 30;
  // NCCL buffers and all-reduce windows; counted when there is more than one GPU.
  int64_t communication = int64_t{1} << 30;
  // Largest live activations; -1: computed from step_tokens.
  int64_t activations = -1;
  int64_t step_tokens = 8192;  // tokens that one step of prefill works on
};

struct FitRequest {
  ModelDimensions dimensions;
  std::string name;           // of the model, for reports
  std::string scheme;         // weight_formats(); empty: as the config says that it is stored
  std::string expert_scheme;  // of routed experts; empty: scheme
  bool fp8_cache = false;
  std::optional<GpuSet> gpus;  // nullopt: no verdict
  // GPUs that share one copy of attention and dense layers; 0: as many as divide both the GPUs and
  // the heads. The rest of the GPUs hold further copies and other sequences (data parallel).
  int64_t tp = 0;
  // GPUs among which whole experts are dealt; the rest split each expert. 0: one (experts are split
  // over all GPUs).
  int64_t ep = 0;
  int64_t context = 8192;  // tokens of each sequence
  int64_t batch = 1;       // sequences at once, on all GPUs together
  bool mtp = false;        // prediction layers are loaded
  bool ignore_windows = false;
  FitReserves reserves;
};

// One line of the parameter table.
struct ParameterCount {
  std::string kind;  // "attention", "routed experts", ...
  int64_t total = 0;
  int64_t active = 0;  // what one token passes through; embeddings as a whole
};

struct WeightSize {
  std::string scheme;
  int64_t bytes = 0;      // loaded: without prediction layers unless requested
  int64_t mtp_bytes = 0;  // of the prediction layers
};

struct FitVerdict {
  GpuSet gpus;
  int64_t tp = 1;
  int64_t ep = 1;
  int64_t dp = 1;
  // On the GPU that holds most.
  int64_t memory = 0;
  int64_t weights = 0;
  int64_t context = 0;
  int64_t workspace = 0;
  int64_t communication = 0;
  int64_t activations = 0;
  int64_t room = 0;       // left for the cache; negative: the weights leave none
  int64_t sequences = 0;  // on one GPU
  int64_t cache = 0;      // of these sequences at the requested context
  bool fits = false;
  int64_t max_context = 0;     // at the requested batch; 0: not one token
  bool model_limit = false;    // max_context is the model's own limit
  int64_t max_batch = 0;       // at the requested context
  int64_t smallest_count = 0;  // power of two of these GPUs that fits; 0: none up to 4096
  std::string reason;          // one sentence
};

struct FitReport {
  std::string name;
  std::string architecture;
  std::string model_type;
  std::string family;
  int64_t layers = 0;
  std::vector<ParameterCount> parameters;  // kinds that occur; without prediction layers
  int64_t total = 0;                       // without prediction layers
  int64_t active = 0;
  int64_t mtp_total = 0;
  std::string scheme;         // that the verdict is for
  std::string expert_scheme;  // equal to scheme unless mixed
  WeightSize chosen;
  std::vector<WeightSize> weights;  // every scheme
  int64_t context = 0;
  int64_t batch = 0;
  bool fp8_cache = false;
  // Of the whole model on one GPU, BF16 and FP8.
  int64_t token_bytes[2] = {0, 0};
  int64_t fixed_bytes[2] = {0, 0};
  int64_t sequence_bytes[2] = {0, 0};
  std::optional<FitVerdict> verdict;
  std::vector<std::string> notes;
};

// Throws UsageError: unknown scheme; a context or batch below 1, a context beyond the model's; a
// tensor or expert parallel size that does not divide the GPUs, the heads or the experts.
FitReport fit(const FitRequest& request);

}  // namespace hone
