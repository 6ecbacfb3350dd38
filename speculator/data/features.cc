#include "speculator/data/features.h"

#include <algorithm>
#include <utility>

#include "core/base/cancel.h"
#include "core/base/error.h"
#include "core/base/progress.h"
#include "core/base/threads.h"
#include "core/format/bf16.h"
#include "runtime/op/sgemm.h"

namespace hone {
namespace {

// Positions whose taps are used: up to the last one that a chain starts from.
int64_t tapped_rows(const TrainingRow& row) {
  return row.starts().back() + 1;
}

// Collects the tapped layers and the input of lm_head of one forward call.
class Capture : public TapSink {
 public:
  explicit Capture(const std::vector<int64_t>& layers) : layers_(layers), taps_(layers.size()) {}

  [[nodiscard]] bool wants(const TapPoint& point) const override {
    return point.kind == TapKind::kFinalNorm ||
           (point.kind == TapKind::kBlockOutput && index_of(point.layer) < layers_.size());
  }
  void on(const TapPoint& point, const TensorView& rows) override {
    Tensor& to = point.kind == TapKind::kFinalNorm ? final_ : taps_[index_of(point.layer)];
    to = Tensor::copy_of(rows);
  }
  [[nodiscard]] const float* tap(size_t index) const { return taps_[index].as<float>().data(); }
  [[nodiscard]] const float* final_norm() const { return final_.as<float>().data(); }

 private:
  [[nodiscard]] size_t index_of(int64_t layer) const {
    return static_cast<size_t>(std::find(layers_.begin(), layers_.end(), layer) - layers_.begin());
  }
  const std::vector<int64_t>& layers_;
  std::vector<Tensor> taps_;
  Tensor final_;
};

// Cuts one row's part, from `first` on, out of the capture.
RowFeatures cut(
    const Capture& capture, size_t taps, int64_t hidden, const TrainingRow& row, int64_t first
) {
  RowFeatures features;
  const int64_t rows = tapped_rows(row);
  features.taps.resize(static_cast<size_t>(rows * hidden) * taps);
  uint16_t* to = features.taps.data();
  for (int64_t t = first; t < first + rows; ++t)
    for (size_t tap = 0; tap < taps; ++tap)
      to = std::transform(
          capture.tap(tap) + t * hidden, capture.tap(tap) + (t + 1) * hidden, to, bf16_encode
      );
  for (const int64_t p : row.targets()) {
    const float* from = capture.final_norm() + (first + p) * hidden;
    features.finals.insert(features.finals.end(), from, from + hidden);
  }
  return features;
}

// The most probable next token after each final state.
std::vector<int32_t> most_probable(const std::vector<float>& finals, const Tensor& lm_head) {
  const int64_t vocab = lm_head.shape().dim(0);
  const int64_t hidden = lm_head.shape().dim(1);
  const auto n = static_cast<int64_t>(finals.size()) / hidden;
  std::vector<int32_t> best(static_cast<size_t>(n));
  // In chunks: logits over a large vocabulary are wide.
  constexpr int64_t kChunk = 256;
  std::vector<float> logits;
  for (int64_t begin = 0; begin < n; begin += kChunk) {
    const int64_t count = std::min(kChunk, n - begin);
    logits.resize(static_cast<size_t>(count * vocab));
    const std::span<const float> states(finals);
    linear_forward(
        states.subspan(static_cast<size_t>(begin * hidden), static_cast<size_t>(count * hidden)),
        lm_head.as<float>(),
        hidden,
        logits
    );
    ThreadPool::global().parallel_for(count, 8, [&](int64_t from, int64_t to) {
      for (int64_t i = from; i < to; ++i) {
        const float* row = logits.data() + i * vocab;
        best[static_cast<size_t>(begin + i)] =
            static_cast<int32_t>(std::max_element(row, row + vocab) - row);
      }
    });
  }
  return best;
}

}  // namespace

int64_t RowFeatures::bytes() const {
  return static_cast<int64_t>(
      taps.size() * sizeof(uint16_t) + finals.size() * sizeof(float) +
      argmax.size() * sizeof(int32_t)
  );
}

Tensor target_lm_head(const Model& target) {
  const std::vector<std::string> modules = target.linear_modules();
  if (std::find(modules.begin(), modules.end(), "lm_head") != modules.end())
    return target.dense_weight("lm_head");
  check(target.config().tied_embeddings, "the target has no lm_head and its embedding is not tied");
  return target.embedding_table();
}

FeatureStore::FeatureStore(
    Model& target,
    Tensor lm_head,
    std::vector<int64_t> taps,
    const std::vector<TrainingRow>& rows,
    int64_t memory_limit
)
    : target_(target),
      lm_head_(std::move(lm_head)),
      taps_(std::move(taps)),
      rows_(rows),
      memory_limit_(memory_limit),
      kept_(rows.size()) {}

void FeatureStore::compute(
    std::span<const size_t> indices, std::vector<std::shared_ptr<const RowFeatures>>& out
) {
  int64_t pages = 0;
  for (const size_t index : indices) pages += (rows_[index].length() - 1) / kPageTokens + 1;
  KvPool pool(target_.kv_layout(), pages);
  std::vector<KvSequence> caches;
  caches.reserve(indices.size());
  std::vector<SequenceInput> inputs;
  for (const size_t index : indices) {
    // The last token's states are never used.
    const std::span<const int32_t> tokens =
        std::span(rows_[index].ids).first(rows_[index].ids.size() - 1);
    KvSequence& cache = caches.emplace_back(pool);
    check(cache.reserve(static_cast<int64_t>(tokens.size())), "features: too few cache pages");
    inputs.push_back({.tokens = tokens, .kv = &cache, .parents = {}, .logits = LogitRows::kNone});
  }
  Capture capture(taps_);
  ForwardOutput output;
  target_.forward(inputs, output, &capture);
  const int64_t hidden = target_.config().hidden;
  int64_t first = 0;
  for (const size_t index : indices) {
    auto features =
        std::make_shared<RowFeatures>(cut(capture, taps_.size(), hidden, rows_[index], first));
    features->argmax = most_probable(features->finals, lm_head_);
    first += rows_[index].length() - 1;
    out.push_back(std::move(features));
  }
}

std::vector<std::shared_ptr<const RowFeatures>> FeatureStore::get(std::span<const size_t> indices) {
  std::vector<std::shared_ptr<const RowFeatures>> result(indices.size());
  std::vector<size_t> missing;
  for (size_t i = 0; i < indices.size(); ++i) {
    result[i] = kept_[indices[i]];
    if (result[i] == nullptr) missing.push_back(i);
  }
  for (size_t begin = 0; begin < missing.size();) {
    std::vector<size_t> pass;
    int64_t tokens = 0;
    size_t end = begin;
    for (; end < missing.size(); ++end) {
      const size_t index = indices[missing[end]];
      if (!pass.empty() && tokens + rows_[index].length() > kPassTokens) break;
      tokens += rows_[index].length();
      pass.push_back(index);
    }
    std::vector<std::shared_ptr<const RowFeatures>> computed;
    compute(pass, computed);
    for (size_t i = begin; i < end; ++i) {
      const size_t index = indices[missing[i]];
      std::shared_ptr<const RowFeatures>& features = computed[i - begin];
      if (kept_[index] == nullptr && kept_bytes_ + features->bytes() <= memory_limit_) {
        kept_[index] = features;
        kept_bytes_ += features->bytes();
        ++kept_rows_;
      }
      result[missing[i]] = std::move(features);
    }
    begin = end;
  }
  return result;
}

void FeatureStore::fill() {
  Progress progress("hidden states", static_cast<int64_t>(rows_.size()), "rows");
  constexpr size_t kRows = 16;
  for (size_t begin = 0; begin < rows_.size(); begin += kRows) {
    throw_if_cancelled();
    std::vector<size_t> indices;
    for (size_t i = begin; i < std::min(begin + kRows, rows_.size()); ++i) indices.push_back(i);
    get(indices);
    progress.advance(static_cast<int64_t>(indices.size()));
    if (kept_rows_ < static_cast<int64_t>(begin + indices.size())) {
      progress.note("the rest is computed as needed (memory limit)");
      break;
    }
  }
}

}  // namespace hone
