// A language model ready to run: weights, forward pass, taps.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/format/quantized_tensor.h"
#include "core/tensor/tensor.h"
#include "runtime/cache/kv_cache.h"
#include "runtime/model/config.h"
#include "runtime/model/tap.h"

namespace hone {

// Whose arithmetic the forward pass emulates (design.md, "Scheme").
//   kExact:     weights dequantized exactly, activations never quantized
//   kHopper:    FP8 1x128 activations with F32 scales, per-token and static FP8 too; NVFP4 and MX
//               formats are weight-only (no block-scaled tensor cores)
//   kBlackwell: FP8 1x128 activations with UE8M0 scales and block-FP8 weights requantized to
//               UE8M0 scales; NVFP4 activations quantized where the checkpoint has input scales, MX
//               activations always
enum class Profile : uint8_t { kExact, kHopper, kBlackwell };
std::string_view profile_name(Profile profile);
// Throws UsageError listing the names.
Profile parse_profile(std::string_view name);

// Which logits a sequence of a batch wants.
enum class LogitRows : uint8_t { kNone, kLast, kAll };

// One sequence's part of a forward call.
struct SequenceInput {
  std::span<const int32_t> tokens;  // new tokens, at least one
  KvSequence* kv = nullptr;         // must have room reserved; forward stores and advances
  // Draft trees: parents[i] is the index in `tokens` of token i's parent, or -1 when it follows the
  // cached tokens. Position = cached length + depth. Empty: a chain.
  std::span<const int32_t> parents = {};
  LogitRows logits = LogitRows::kLast;
};

// Result of a forward call.
struct ForwardOutput {
  // [sum of wanted rows, vocab] f32; sequence s starts at row first_row[s].
  Tensor logits;
  std::vector<int64_t> first_row;
};

// Replaces one module's weight during a forward call, for sensitivity trials and GPTQ.
// W: [rows, cols] f32 dense.
using WeightOverrides = std::map<std::string, Tensor, std::less<>>;

struct ModelOptions {
  Profile profile = Profile::kExact;
};

// Immutable weights; forward() may run in one thread at a time.
//
// Numerics: every output element is reduced in the canonical order of runtime/op/matmul.h, so
// results do not depend on batch composition, chunking, page layout, tree or chain form, or the
// number of threads.
class Model {
 public:
  // Throws DataError for missing or ill-shaped tensors, naming them, and for NaN weights.
  static std::unique_ptr<Model> load(const std::filesystem::path& folder, ModelOptions options);
  virtual ~Model() = default;

  [[nodiscard]] virtual const ModelConfig& config() const = 0;
  [[nodiscard]] virtual Profile profile() const = 0;
  [[nodiscard]] virtual KvLayout kv_layout() const = 0;
  // Linear modules that can be overridden, in execution order.
  [[nodiscard]] virtual std::vector<std::string> linear_modules() const = 0;
  // The dense f32 weight of a linear module [rows, cols] (dequantized where needed).
  [[nodiscard]] virtual Tensor dense_weight(std::string_view module) const = 0;
  // The input embedding table [vocab, hidden] as f32.
  [[nodiscard]] virtual Tensor embedding_table() const = 0;
  // Hash of config and weights, for contracts of draft heads and reports.
  [[nodiscard]] virtual const std::string& content_hash() const = 0;

  // Runs all sequences in one pass. `taps` and `overrides` may be null. Throws UsageError for
  // token ids outside the vocabulary and positions beyond max_positions.
  virtual void forward(
      std::span<const SequenceInput> batch,
      ForwardOutput& output,
      TapSink* taps = nullptr,
      const WeightOverrides* overrides = nullptr
  ) = 0;
};

}  // namespace hone
