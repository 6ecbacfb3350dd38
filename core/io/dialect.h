// Dialects: what the parts of a QuantizedTensor are called on disk, and the config that says so.
//
// core/format says what bytes mean; quant decides which bytes to choose; a dialect says what they
// are called. It knows no model: module names come in, tensor names come out.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/format/quantized_tensor.h"
#include "core/io/checkpoint.h"
#include "core/json/json.h"

namespace hone {

// A quantized module as a writer describes it to the dialect.
struct QuantizedModule {
  std::string module;  // "model.layers.0.self_attn.q_proj" (no ".weight")
  Format format = Format::kBlockFp8;
  ActivationRule activation = ActivationRule::kNone;
  int64_t rows = 0;
  int64_t cols = 0;
  bool power_of_two_scales = false;  // kBlockFp8: every scale is a power of two
};

// The on-disk name of one part, and which part of the QuantizedTensor it is.
struct DialectPart {
  enum class Kind { kCodes, kBlockScales, kGlobalScale, kInputScale };
  Kind kind = Kind::kCodes;
  TensorSpec spec;
  // Scalars: stored as the reciprocal of the factor (GlobalScale::divisor).
  bool divisor = false;
};

// Whose calibrated scales the checkpoint carries for the KV cache.
enum class KvCacheFormat : uint8_t { kNone, kFp8, kNvfp4 };

// What a config speaks of.
struct QuantizedContents {
  std::span<const QuantizedModule> quantized;
  std::span<const std::string> unquantized;  // the linear modules left as they are, exact names
  KvCacheFormat kv_cache = KvCacheFormat::kNone;
};

// Stateless; one instance each, listed in dialects().
class Dialect {
 public:
  virtual ~Dialect() = default;
  // "fp8", "compressed-tensors", "modelopt", "mxfp4".
  [[nodiscard]] virtual std::string_view name() const = 0;
  // Can the dialect express this module? Otherwise the reason, for the user.
  [[nodiscard]] virtual std::optional<std::string> refuses(const QuantizedModule&) const = 0;

  // ---- reading
  // Does config.json's quantization_config (or hf_quant_config.json) belong to this dialect?
  [[nodiscard]] virtual bool matches(const Checkpoint&) const = 0;
  // Modules that are stored quantized, by the names of their tensors, in checkpoint order. Throws
  // DataError when parts are missing (codes without scales, scales without codes).
  [[nodiscard]] virtual std::vector<std::string> modules(const Checkpoint&) const = 0;
  // Throws DataError naming the tensor on wrong shapes, dtypes, or non-positive or non-finite
  // scalars.
  [[nodiscard]] virtual QuantizedTensor read(const Checkpoint&, const std::string& module)
      const = 0;
  // What the config says of the KV cache. Throws DataError for what no engine reads.
  [[nodiscard]] virtual KvCacheFormat kv_cache(const Checkpoint&) const = 0;

  // ---- writing
  // Tensors of the module in the order they are written: codes first.
  [[nodiscard]] virtual std::vector<DialectPart> parts(const QuantizedModule&) const = 0;
  // quantization_config for config.json. Throws UsageError where the dialect cannot say it
  // (refuses() tells it for single modules).
  [[nodiscard]] virtual Json quantization_config(const QuantizedContents&) const = 0;
  // Further files (file name, document), for instance hf_quant_config.json.
  [[nodiscard]] virtual std::vector<std::pair<std::string, Json>>
  extra_files(const QuantizedContents&) const = 0;
};

// All dialects, in the order in which they are tried.
std::span<const Dialect* const> dialects();
// Throws UsageError listing the known names.
const Dialect& dialect_by_name(std::string_view name);
// The dialect of a checkpoint; nullptr when it is not quantized. Throws DataError when it has a
// quantization_config that no dialect reads, naming its quant_method.
const Dialect* detect_dialect(const Checkpoint& checkpoint);

}  // namespace hone
