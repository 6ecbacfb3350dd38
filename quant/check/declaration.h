// What the configs of a checkpoint say about its quantization, read without giving up: the promise
// that the tensors are held against.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/json/json.h"
#include "quant/check/name_list.h"
#include "quant/check/snapshot.h"

namespace hone {

enum class QuantDialect : uint8_t {
  kNone,      // no quantization is declared
  kFp8,       // quant_method "fp8"
  kModelOpt,  // "modelopt", or only hf_quant_config.json
  kCompressedTensors,
  kMxfp4,    // GPT-OSS
  kForeign,  // awq, gptq, ...: not looked into
};

enum class StoredForm : uint8_t {
  kFp8Block,    // one scale for each weight_block_size
  kFp8Grid,     // modelopt FP8_PB_WO: scales [N/128, 1, K/128, 1]
  kFp8Channel,  // one scale for each row
  kFp8Tensor,   // one scale
  kNvfp4,
  kMxfp4,
  kMxfp8,
  kForeign,  // integers, groups of other sizes: not looked into
};
std::string_view form_name(StoredForm form);
// Are the codes two in a byte?
bool packed_form(StoredForm form);

struct DeclaredForm {
  StoredForm form = StoredForm::kForeign;
  bool activations = false;  // the engine quantizes the inputs too
  bool input_scale = false;  // and needs a calibrated scale for it
  std::string source;        // "group_0", "quant_algo NVFP4"

  [[nodiscard]] bool same_scheme(const DeclaredForm& other) const {
    return form == other.form && activations == other.activations;
  }
};

// A group of compressed-tensors.
struct DeclaredGroup {
  std::string name;
  std::vector<std::string> targets;
  NameList names;             // targets without the class names
  bool linear_class = false;  // "Linear" is a target
  std::string format;         // of the group; empty: only the config's own
  DeclaredForm form;
  const Json* weights = nullptr;
  const Json* activations = nullptr;  // nullptr: null or missing
};

class Declaration {
 public:
  // The snapshot must outlive it.
  explicit Declaration(const Snapshot& snapshot);

  [[nodiscard]] QuantDialect dialect() const { return dialect_; }
  // config.json's quantization_config (also of its text_config), and the object "quantization" of
  // hf_quant_config.json; nullptr when absent.
  [[nodiscard]] const Json* section() const { return section_; }
  [[nodiscard]] const Json* file_section() const { return file_; }
  [[nodiscard]] const std::string& method() const { return method_; }
  // quant_algo of the two files, and the one that counts.
  [[nodiscard]] const std::string& config_algo() const { return config_algo_; }
  [[nodiscard]] const std::string& file_algo() const { return file_algo_; }
  [[nodiscard]] const std::string& algo() const {
    return config_algo_.empty() ? file_algo_ : config_algo_;
  }
  // What fields hold that they may not: "weight_block_size is 128, expected two sizes".
  [[nodiscard]] const std::vector<std::string>& mistakes() const { return mistakes_; }
  [[nodiscard]] const std::vector<DeclaredGroup>& groups() const { return groups_; }
  // Modules that stay as they are, over all keys in use.
  [[nodiscard]] const NameList& excluded() const { return excluded_; }
  // MIXED_PRECISION: quant_algo by layer, as listed.
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& layers() const {
    return layers_;
  }
  // weight_block_size of dialect fp8; 0: scales of other kinds.
  [[nodiscard]] int64_t block_rows() const { return block_rows_; }
  [[nodiscard]] int64_t block_cols() const { return block_cols_; }

  // Is the module, or the layer that engines fuse it into (`fused_layer`: "model.layers.0.
  // self_attn.qkv_proj", may be empty), on the list of those that stay?
  [[nodiscard]] bool excludes(std::string_view module, std::string_view fused_layer) const;
  // What the config promises for a linear module; nullopt: it stays as it is.
  [[nodiscard]] std::optional<DeclaredForm> form_of(
      std::string_view module, std::string_view fused_layer
  ) const;
  // Groups of equal strength that claim the module (exact names before expressions before class
  // names).
  [[nodiscard]] std::vector<const DeclaredGroup*> claims(std::string_view module) const;

 private:
  void read_fp8(const Json& section);
  void read_modelopt();
  void read_groups(const Json& section);
  void read_layers(const Json& section);
  void mistake(std::string text) { mistakes_.push_back(std::move(text)); }

  QuantDialect dialect_ = QuantDialect::kNone;
  const Json* section_ = nullptr;
  const Json* file_ = nullptr;
  std::string method_;
  std::string config_algo_;
  std::string file_algo_;
  int64_t block_rows_ = 0;
  int64_t block_cols_ = 0;
  std::optional<DeclaredForm> whole_;  // of every linear module that is not excluded
  std::vector<DeclaredGroup> groups_;
  NameList excluded_;
  std::vector<std::pair<std::string, std::string>> layers_;
  std::unordered_map<std::string, std::string> layer_algo_;
  std::vector<std::string> mistakes_;
};

// What a quant_algo of ModelOpt stands for; nullopt for names that are not looked into.
std::optional<DeclaredForm> modelopt_form(std::string_view algo);
// A string field, "" when it is absent or no string; an object field, nullptr likewise.
std::string string_field(const Json& object, std::string_view key);
const Json* object_field(const Json& object, std::string_view key);

}  // namespace hone
