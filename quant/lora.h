// LoRA adapters in PEFT's folder layout, merged into dense weights slab by slab.
//
//   W' = W + s * B A      A [r, in], B [out, r]; s = alpha / r, or alpha / sqrt(r) (use_rslora)
//
// computed in float32 with one rounding to the weight's dtype at the end, in a fixed order: merging
// gives the same bytes for every slab size and number of threads. PEFT's merge_and_unload() rounds
// the delta first, so it may differ by one step of the weight's dtype.
// Source: PEFT's adapter_config.json and adapter_model.safetensors (tuners/lora).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/io/safetensors.h"
#include "core/json/json.h"

namespace hone {

class LoraAdapter {
 public:
  // Throws DataError: missing files, odd shapes, half of a pair, tensors that are no LoRA weights;
  // and naming the feature where merging would not be exact or is not supported: DoRA, trained
  // biases, adapters that are not LoRA.
  static std::shared_ptr<const LoraAdapter> open(const std::filesystem::path& folder);

  // Modules of the base model with a delta ("model.layers.0.self_attn.q_proj"), sorted.
  [[nodiscard]] std::vector<std::string> modules() const;
  // Tensors that replace the base model's (modules_to_save), by the base's name.
  [[nodiscard]] std::vector<std::string> replacements() const;
  [[nodiscard]] TensorView replacement(const std::string& tensor) const;

  // Does the delta of `module` fit a weight [rows, cols]? Throws DataError naming both shapes.
  void check_shape(const std::string& module, int64_t rows, int64_t cols) const;
  // Adds rows [row0, row0 + n) of the delta to `values` [n, cols], a slab of the module's weight.
  void add_rows(const std::string& module, int64_t row0, int64_t n, float* values) const;

  // s of the module.
  [[nodiscard]] double scaling(const std::string& module) const;
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

 private:
  struct Pair {
    std::string a;  // names in the file
    std::string b;
    bool embedding = false;  // lora_embedding_A/B: the delta is (B A)^T
    int64_t rank = 0;
    float scale = 0;
    // Factors of W' in the layout of the base: left [rows, r], right [r, cols].
    std::vector<float> left;
    std::vector<float> right;
    int64_t rows = 0;
    int64_t cols = 0;
  };
  LoraAdapter() = default;
  void read_config();
  void read_tensors();
  void finish(const std::string& module, Pair& pair);
  [[nodiscard]] const Pair& pair(const std::string& module) const;

  std::filesystem::path folder_;
  std::shared_ptr<const SafetensorsFile> file_;
  double alpha_ = 0;
  bool rslora_ = false;
  bool fan_in_fan_out_ = false;
  std::map<std::string, double> alpha_pattern_;
  std::map<std::string, Pair> pairs_;
  std::map<std::string, std::string> replacements_;  // base's name -> name in the file
};

}  // namespace hone
