// The statistics file: what calibration measured, read by quantization.
//
// HDF5, schema version in the root attribute "schema_version"; docs/stats_format.md lists groups,
// data sets, shapes and units.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace hone {

inline constexpr int64_t kStatsSchemaVersion = 1;

// Effect of quantizing one module (or fused group) alone.
struct Sensitivity {
  double kl_mean = 0;    // mean KL(reference || quantized) per token, nats
  double kl_stderr = 0;  // standard error of the mean over tokens
};

// Per linear module, over all calibration tokens.
struct ModuleStats {
  int64_t rows = 0;  // out_features
  int64_t cols = 0;  // in_features
  int64_t tokens = 0;
  float input_amax = 0;                            // max |x|
  std::vector<float> input_channel_amax;           // [cols], or empty: not recorded
  std::vector<double> input_mean_square;           // [cols], mean of x^2, or empty
  std::map<std::string, Sensitivity> sensitivity;  // by format name: "nvfp4", "fp8-block"
};

// A fused group that was quantized as a whole is recorded as an entry of `modules` under the
// group's name ("model.layers.0.self_attn.qkv"), with a sensitivity and no sizes or activations.
struct CalibrationStats {
  std::string model_hash;   // Model::content_hash() of the model that was run
  std::string corpus_hash;  // sha256 of the token ids
  int64_t tokens = 0;
  std::map<std::string, ModuleStats> modules;  // by module name

  // Atomic; equal statistics give equal bytes. Throws DataError naming the path (and the module,
  // for values that load() would refuse).
  void save(const std::filesystem::path& path) const;
  // Throws DataError naming path, object, and both schema versions when they differ. Refuses
  // negative, NaN or infinite statistics and sizes that disagree.
  static CalibrationStats load(const std::filesystem::path& path);
};

}  // namespace hone
