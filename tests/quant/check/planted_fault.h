// Faulty checkpoints: a sound one, one fault, and the check that must find it (and no other).
#pragma once

#include <filesystem>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "quant/check.h"
#include "tests/fixture/stored_checkpoint.h"

namespace hone {

using testing_fixture::StoredBytes;
using testing_fixture::StoredCheckpoint;

// Sound checkpoints of two layers, hidden size 256, 4 heads and 2 key and value heads of 64. All
// are made by Hone's own quantization, or from its output by renaming.
const StoredCheckpoint& sound_dense();
const StoredCheckpoint& sound_fp8();           // block FP8
const StoredCheckpoint& sound_nvfp4();         // modelopt, with input scales
const StoredCheckpoint& sound_nvfp4a16();      // modelopt, weights only
const StoredCheckpoint& sound_experts();       // modelopt NVFP4, three routed experts
const StoredCheckpoint& sound_modelopt_fp8();  // one scale for each tensor, static activations
const StoredCheckpoint& sound_mixed();         // modelopt MIXED_PRECISION: attention FP8, MLP NVFP4
const StoredCheckpoint& sound_ct_nvfp4();      // compressed-tensors, W4A4
const StoredCheckpoint& sound_ct_channel();    // compressed-tensors FP8, channel and token
const StoredCheckpoint& sound_ct_mixed();      // two groups: attention FP8, MLP NVFP4
const StoredCheckpoint& sound_two_shards();    // dense, with an index

struct PlantedFault {
  std::string id;    // "HQ403"
  std::string name;  // what was done, as a test name
  const StoredCheckpoint& (*base)() = nullptr;
  std::function<void(StoredCheckpoint&)> plant = nullptr;              // in memory
  std::function<void(const std::filesystem::path&)> damage = nullptr;  // in the written folder
  CheckOptions options = {};
};

inline void PrintTo(const PlantedFault& fault, std::ostream* out) {
  *out << fault.id << " " << fault.name;
}

inline std::string fault_name(const testing::TestParamInfo<PlantedFault>& test) {
  return test.param.id + test.param.name;
}

// The lists of the test files beside this one.
std::vector<PlantedFault> file_faults();
std::vector<PlantedFault> config_faults();
std::vector<PlantedFault> group_faults();
std::vector<PlantedFault> part_faults();
std::vector<PlantedFault> layer_faults();
std::vector<PlantedFault> value_faults();
std::vector<PlantedFault> engine_faults();
std::vector<PlantedFault> parallel_faults();

// Writes the faulty checkpoint, checks it, and expects the fault's id and no other fault.
void expect_found(const PlantedFault& fault);
// The report of a checkpoint that is written as it stands.
CheckReport report_of(const StoredCheckpoint& checkpoint, const CheckOptions& options);

// ---- planting

inline const std::string kLayer0 = "model.layers.0.";
inline const std::string kLayer1 = "model.layers.1.";

// Changes config.json, its quantization_config, or "quantization" of hf_quant_config.json.
void edit_config(StoredCheckpoint& checkpoint, const std::function<void(Json&)>& edit);
void edit_section(StoredCheckpoint& checkpoint, const std::function<void(Json&)>& edit);
void edit_quant_file(StoredCheckpoint& checkpoint, const std::function<void(Json&)>& edit);
// Adds a module to the exclude lists of config.json and hf_quant_config.json.
void exclude(StoredCheckpoint& checkpoint, const std::string& module);
void rename(StoredCheckpoint& checkpoint, const std::string& from, const std::string& to);
// Removes every tensor whose name starts with `prefix`.
void remove_all(StoredCheckpoint& checkpoint, const std::string& prefix);
StoredBytes f32(std::vector<int64_t> shape, const std::vector<float>& values);
// A BF16 matrix of ones.
StoredBytes bf16_ones(int64_t rows, int64_t cols);
// Makes a quantized module dense: its scales go, its weight becomes BF16.
void make_dense(StoredCheckpoint& checkpoint, const std::string& module);

}  // namespace hone
