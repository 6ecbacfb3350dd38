#include "calibrate/sensitivity.h"

#include <algorithm>
#include <cmath>

#include "calibrate/forward.h"
#include "core/base/cancel.h"
#include "core/base/error.h"
#include "core/base/progress.h"
#include "core/base/threads.h"
#include "core/format/block_fp8.h"
#include "core/format/fp8_scaled.h"
#include "core/format/mx.h"
#include "core/format/nvfp4.h"
#include "runtime/model/schema.h"
#include "runtime/op/distribution.h"

namespace hone {
namespace {

// Modules that engines fuse, or one module alone.
struct Group {
  std::string name;
  std::vector<std::string> members;
};

std::vector<Group> groups_of(const Model& model) {
  std::vector<std::string> names;
  for (const std::string& module : model.linear_modules()) names.push_back(module + ".weight");
  const ModelSchema schema(model.config().architecture_name, names);
  std::vector<Group> groups;
  for (const ModuleInfo& info : schema.modules()) {
    const bool skipped = info.role == Role::kLmHead || info.role == Role::kEmbedding ||
                         info.role == Role::kMoeRouter;
    if (skipped) continue;
    const std::string& name = info.fused_group.empty() ? info.module : info.fused_group;
    auto it = std::ranges::find(groups, name, &Group::name);
    if (it == groups.end()) it = groups.insert(groups.end(), Group{name, {}});
    it->members.push_back(info.module);
  }
  return groups;
}

float amax_of(const Tensor& weight) {
  float amax = 0;
  for (const float w : weight.as<float>()) amax = std::max(amax, std::fabs(w));
  return amax;
}

bool fits(Format format, const Tensor& weight) {
  return weight.shape().dim(1) % format_layout(format, 1, 1).column_multiple == 0;
}

// `amax` is the group's: formats with a global scale share it.
QuantizedTensor encode(
    Format format, const Tensor& weight, float amax, std::string_view module, ThreadPool& pool
) {
  switch (format) {
    case Format::kBlockFp8:
      return quantize_block_fp8(weight.view(), BlockFp8Rule{}, module, pool);
    case Format::kNvfp4:
      return quantize_nvfp4(weight.view(), nvfp4_global_scale(amax), module, pool);
    case Format::kFp8Channel:
      return quantize_fp8_channel(weight.view(), module, pool);
    case Format::kFp8Tensor:
      return quantize_fp8_tensor(weight.view(), fp8_scale(amax), module, pool);
    case Format::kMxfp4:
    case Format::kMxfp8:
      return quantize_mx(weight.view(), {.format = format}, module, pool);
  }
  throw InternalError("unknown format");
}

// The group's weights after encoding and decoding; empty when the format cannot hold one of them.
WeightOverrides round_trip(const Model& model, const Group& group, Format format) {
  WeightOverrides weights;
  float amax = 0;
  for (const std::string& module : group.members) {
    Tensor weight = model.dense_weight(module);
    if (!fits(format, weight)) return {};
    amax = std::max(amax, amax_of(weight));
    weights.emplace(module, std::move(weight));
  }
  ThreadPool& pool = ThreadPool::global();
  for (auto& [module, weight] : weights) {
    const QuantizedTensor quantized = encode(format, weight, amax, module, pool);
    Tensor decoded(DType::kF32, weight.shape());
    dequantize_rows(quantized, 0, quantized.rows, decoded.as<float>().data());
    weight = std::move(decoded);
  }
  return weights;
}

// Sums of KL over tokens, kept by sequence: tokens of one sequence are not independent.
struct KlSums {
  std::vector<double> sum;
  std::vector<int64_t> tokens;

  void add(std::span<const RowDistance> rows, const ForwardOutput& output, size_t sequences) {
    for (size_t s = 0; s < sequences; ++s) {
      const auto begin = static_cast<size_t>(output.first_row[s]);
      const size_t end =
          s + 1 < sequences ? static_cast<size_t>(output.first_row[s + 1]) : rows.size();
      double total = 0;
      for (size_t row = begin; row < end; ++row) total += rows[row].kl;
      sum.push_back(total);
      tokens.push_back(static_cast<int64_t>(end - begin));
    }
  }

  // Ratio estimate with the sequences as clusters.
  [[nodiscard]] Sensitivity estimate() const {
    double total = 0;
    double count = 0;
    for (size_t i = 0; i < sum.size(); ++i) {
      total += sum[i];
      count += static_cast<double>(tokens[i]);
    }
    Sensitivity result;
    result.kl_mean = total / count;
    double squares = 0;
    for (size_t i = 0; i < sum.size(); ++i) {
      const double rest = sum[i] - result.kl_mean * static_cast<double>(tokens[i]);
      squares += rest * rest;
    }
    const auto n = static_cast<double>(sum.size());
    if (n > 1) result.kl_stderr = std::sqrt(squares * n / (n - 1)) / count;
    return result;
  }
};

}  // namespace

void measure_sensitivity(
    Model& model,
    std::span<const std::vector<int32_t>> sequences,
    const SensitivityOptions& options,
    CalibrationStats& stats
) {
  const std::vector<Group> groups = groups_of(model);
  const int64_t vocab = model.config().vocab;
  const int64_t batch_tokens =
      std::max<int64_t>(1, options.logit_bytes / (vocab * static_cast<int64_t>(sizeof(float))));
  const std::vector<SequenceBatch> batches = batch_sequences(sequences, batch_tokens);
  const size_t trials = groups.size() * options.formats.size();
  std::vector<KlSums> sums(trials);
  Progress progress("sensitivity", static_cast<int64_t>(trials * batches.size()), "trials");
  for (const SequenceBatch& batch : batches) {
    const auto part = sequences.subspan(batch.first, batch.count);
    ForwardOutput reference;
    forward_sequences(model, part, LogitRows::kAll, reference);
    for (size_t trial = 0; trial < trials; ++trial) {
      throw_if_cancelled();
      const Group& group = groups[trial / options.formats.size()];
      const Format format = options.formats[trial % options.formats.size()];
      const WeightOverrides weights = round_trip(model, group, format);
      progress.advance();
      if (weights.empty()) continue;
      ForwardOutput output;
      forward_sequences(model, part, LogitRows::kAll, output, nullptr, &weights);
      sums[trial].add(
          row_distances(reference.logits.as<float>(), output.logits.as<float>(), vocab),
          output,
          part.size()
      );
    }
  }
  for (size_t trial = 0; trial < trials; ++trial) {
    if (sums[trial].sum.empty()) continue;
    const Group& group = groups[trial / options.formats.size()];
    const Format format = options.formats[trial % options.formats.size()];
    stats.modules[group.name].sensitivity[std::string(format_name(format))] =
        sums[trial].estimate();
  }
}

}  // namespace hone
