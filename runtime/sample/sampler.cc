#include "runtime/sample/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/base/error.h"
#include "core/base/rng.h"

namespace hone {
namespace {

// Ids by descending logit, sorted only as far as somebody looks: most draws end in the first few,
// and sorting a whole vocabulary costs more than the rest of the sampler.
class SortedIds {
 public:
  explicit SortedIds(std::span<const float> logits) : logits_(logits), ids_(logits.size()) {
    std::iota(ids_.begin(), ids_.end(), 0);
  }
  [[nodiscard]] size_t size() const { return ids_.size(); }
  int32_t operator[](size_t rank) {
    while (rank >= sorted_) grow();
    return ids_[rank];
  }

 private:
  void grow() {
    const auto before = [this](int32_t a, int32_t b) {
      const float x = logits_[static_cast<size_t>(a)];
      const float y = logits_[static_cast<size_t>(b)];
      return x > y || (x == y && a < b);
    };
    const size_t end = std::min(ids_.size(), std::max<size_t>(64, sorted_ * 8));
    const auto first = ids_.begin() + static_cast<ptrdiff_t>(sorted_);
    const auto last = ids_.begin() + static_cast<ptrdiff_t>(end);
    if (last != ids_.end()) std::nth_element(first, last, ids_.end(), before);
    std::sort(first, last, before);
    sorted_ = end;
  }

  std::span<const float> logits_;
  std::vector<int32_t> ids_;
  size_t sorted_ = 0;
};

// Unnormalised weights after temperature, and how many of the sorted ids the filters keep.
struct Filtered {
  SortedIds ids;
  std::vector<double> weights;  // by id
  size_t kept = 0;              // when no filter is on: all
  double total = 0;             // of the kept
  [[nodiscard]] double weight(size_t rank) { return weights[static_cast<size_t>(ids[rank])]; }
};

Filtered filter(std::span<const float> logits, const SamplingParams& params) {
  const float top = logits[static_cast<size_t>(argmax(logits))];
  Filtered result{.ids = SortedIds(logits), .weights = std::vector<double>(logits.size())};
  const double scale = 1.0 / static_cast<double>(params.temperature);
  double total = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    const double distance = static_cast<double>(logits[i]) - static_cast<double>(top);
    // A temperature near 0 makes the scale infinite; the largest logits keep weight 1.
    const double weight = distance == 0.0 ? 1.0 : std::exp(distance * scale);
    result.weights[i] = weight;
    total += weight;
  }
  result.kept = logits.size();
  result.total = total;

  if (params.top_k > 0 && static_cast<size_t>(params.top_k) < result.kept) {
    result.kept = static_cast<size_t>(params.top_k);
    result.total = 0;
    for (size_t rank = 0; rank < result.kept; ++rank) result.total += result.weight(rank);
  }
  if (params.top_p < 1.0F) {
    const double limit = static_cast<double>(params.top_p) * result.total;
    double before = 0;
    size_t kept = 0;
    while (kept < result.kept && (kept == 0 || before < limit)) before += result.weight(kept++);
    result.kept = kept;
    result.total = before;
  }
  if (params.min_p > 0.0F) {
    double sum = 0;
    size_t kept = 0;
    while (kept < result.kept && result.weight(kept) >= static_cast<double>(params.min_p))
      sum += result.weight(kept++);
    result.kept = kept;
    result.total = sum;
  }
  return result;
}

// max + log(sum exp(logit - max)) in float64.
double log_sum_exp(std::span<const float> logits, float top) {
  double sum = 0;
  for (const float logit : logits)
    sum += std::exp(static_cast<double>(logit) - static_cast<double>(top));
  return static_cast<double>(top) + std::log(sum);
}

}  // namespace

void validate(const SamplingParams& params) {
  require(
      std::isfinite(params.temperature) && params.temperature >= 0.0F,
      "temperature is {}, expected a number of at least 0",
      params.temperature
  );
  require(params.top_k >= -1, "top_k is {}, expected 0 (off) or more", params.top_k);
  require(
      params.top_p > 0.0F && params.top_p <= 1.0F,
      "top_p is {}, expected more than 0 and at most 1",
      params.top_p
  );
  require(
      params.min_p >= 0.0F && params.min_p <= 1.0F, "min_p is {}, expected 0 to 1", params.min_p
  );
}

int32_t argmax(std::span<const float> logits) {
  require(!logits.empty(), "no logits to choose from");
  size_t best = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    require_data(
        !std::isnan(logits[i]) && logits[i] != std::numeric_limits<float>::infinity(),
        "logit of token {} is {}",
        i,
        logits[i]
    );
    if (logits[i] > logits[best]) best = i;
  }
  require_data(
      logits[best] != -std::numeric_limits<float>::infinity(), "every token has a logit of -inf"
  );
  return static_cast<int32_t>(best);
}

std::vector<Candidate> distribution(std::span<const float> logits, const SamplingParams& params) {
  validate(params);
  if (params.temperature == 0.0F) return {{.id = argmax(logits), .probability = 1.0}};
  Filtered filtered = filter(logits, params);
  std::vector<Candidate> result;
  for (size_t rank = 0; rank < filtered.kept; ++rank) {
    const double weight = filtered.weight(rank);
    if (weight == 0.0) break;
    result.push_back({.id = filtered.ids[rank], .probability = weight / filtered.total});
  }
  return result;
}

int32_t sample(
    std::span<const float> logits, const SamplingParams& params, uint32_t choice, uint64_t position
) {
  validate(params);
  if (params.temperature == 0.0F) return argmax(logits);
  Filtered filtered = filter(logits, params);
  const double target = uniform(params.seed, choice, position) * filtered.total;
  double sum = 0;
  for (size_t rank = 0; rank < filtered.kept; ++rank) {
    const double weight = filtered.weight(rank);
    sum += weight;
    if (sum > target) return filtered.ids[rank];
    if (weight == 0.0) break;
  }
  // Summed in another order than `total`, the weights may end a rounding below it: the last token
  // that has any probability.
  size_t last = filtered.kept - 1;
  while (last > 0 && filtered.weight(last) == 0.0) --last;
  return filtered.ids[last];
}

LogProbs log_probs(std::span<const float> logits, int32_t id, int count) {
  require(
      id >= 0 && static_cast<size_t>(id) < logits.size(),
      "token {} outside the vocabulary of {}",
      id,
      logits.size()
  );
  const float top = logits[static_cast<size_t>(argmax(logits))];
  const double norm = log_sum_exp(logits, top);
  LogProbs result;
  result.chosen = static_cast<double>(logits[static_cast<size_t>(id)]) - norm;
  SortedIds ids(logits);
  for (size_t rank = 0; rank < std::min(ids.size(), static_cast<size_t>(std::max(count, 0)));
       ++rank) {
    const int32_t other = ids[rank];
    result.top.emplace_back(other, static_cast<double>(logits[static_cast<size_t>(other)]) - norm);
  }
  return result;
}

}  // namespace hone
