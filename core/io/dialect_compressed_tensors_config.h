// The quantization_config of compressed-tensors: groups of modules by name, and what each group
// holds. Internal to core/io; the names of tensors are in dialect_compressed_tensors.h.
//
//   {quant_method "compressed-tensors", format, quantization_status "compressed",
//    config_groups {group_0: {targets, format, weights, input_activations, output_activations}},
//    ignore, kv_cache_scheme, ...}
//
// weights and input_activations are "quantization arguments": num_bits, type, symmetric, strategy,
// group_size, block_structure, dynamic, scale_dtype. Source: compressed-tensors quant_config.py,
// quant_scheme.py, quant_args.py.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/io/dialect.h"

namespace hone {

// Matches one module name against one entry of targets or ignore, as the library does: "re:..." is
// a regular expression that must match from the start (Python's re.match), anything else is the
// exact name, or the class name of linear layers ("Linear", "LinearBase").
class CtTargets {
 public:
  CtTargets() = default;
  // Throws DataError naming `source` for a broken expression.
  CtTargets(const std::vector<std::string>& targets, const std::string& source);

  // How a name is matched, the strongest first.
  enum class Match : uint8_t { kExact, kExpression, kClass, kNone };
  [[nodiscard]] Match match(const std::string& module) const;

 private:
  struct Expressions;
  std::unordered_map<std::string, bool> exact_;
  std::shared_ptr<const Expressions> expressions_;
  bool linear_ = false;
};

struct CtGroup {
  std::string name;  // "group_0"
  CtTargets targets;
  Format format = Format::kBlockFp8;
  ActivationRule activation = ActivationRule::kNone;
};

struct CtConfig {
  std::vector<CtGroup> groups;  // those with weights, in the order of the file
  CtTargets ignore;
  KvCacheFormat kv_cache = KvCacheFormat::kNone;

  // Throws DataError naming `source`, the group and the field for what is not read here: integer
  // weights, other group sizes, quantized outputs, sparsity, online transforms.
  static CtConfig parse(const Json& section, const std::string& source);

  // Groups that claim the module, exact names first, then expressions, then class names; none when
  // it is ignored.
  [[nodiscard]] std::vector<const CtGroup*> groups_of(const std::string& module) const;
};

// The library's name for how weights of this scheme are stored; nullopt when it has none.
std::optional<std::string_view> ct_format_name(Format format, ActivationRule activation);

// The whole section. UsageError for a scheme without a name and for NVFP4 KV caches.
Json ct_config(const QuantizedContents& contents);

}  // namespace hone
