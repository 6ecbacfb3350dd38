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
  std::vector<float> input_channel_amax;           // [cols]
  std::vector<double> input_mean_square;           // [cols], mean of x^2
  std::map<std::string, Sensitivity> sensitivity;  // by format name: "nvfp4", "fp8-block"
};

struct CalibrationStats {
  std::string model_hash;   // Model::content_hash() of the model that was run
  std::string corpus_hash;  // sha256 of the token ids
  int64_t tokens = 0;
  std::map<std::string, ModuleStats> modules;  // by module name

  // Atomic. Throws DataError.
  void save(const std::filesystem::path& path) const;
  // Throws DataError naming path, object, and both schema versions when they differ.
  static CalibrationStats load(const std::filesystem::path& path);
};

}  // namespace hone
