#include "eval/stat/bootstrap.h"

#include <algorithm>
#include <numeric>

#include "core/base/error.h"
#include "core/base/rng.h"
#include "core/base/threads.h"
#include "eval/stat/quantile.h"

namespace hone {
namespace {

// How often each of n documents is drawn in one replicate.
void draw(uint64_t seed, int64_t replicate, std::vector<int32_t>& times) {
  std::fill(times.begin(), times.end(), 0);
  Rng rng(seed, static_cast<uint32_t>(replicate));
  for (size_t i = 0; i < times.size(); ++i) ++times[rng.below(times.size())];
}

template <typename Statistic>
Interval percentile_interval(
    size_t documents, const BootstrapOptions& options, const Statistic& statistic
) {
  require(documents >= 2, "bootstrap over {} documents: at least two are needed", documents);
  require(options.replicates >= 100, "{} bootstrap replicates: at least 100", options.replicates);
  require(options.level > 0 && options.level < 1, "confidence level {}", options.level);
  std::vector<double> results(static_cast<size_t>(options.replicates));
  ThreadPool::global().parallel_for(options.replicates, 16, [&](int64_t begin, int64_t end) {
    std::vector<int32_t> times(documents);
    for (int64_t i = begin; i < end; ++i) {
      draw(options.seed, i, times);
      results[static_cast<size_t>(i)] = statistic(times);
    }
  });
  std::sort(results.begin(), results.end());
  const double tail = (1 - options.level) / 2;
  return {quantile_sorted(results, tail), quantile_sorted(results, 1 - tail)};
}

}  // namespace

double ratio_of_sums(std::span<const RatioTerm> documents) {
  RatioTerm total;
  for (const RatioTerm& term : documents) {
    total.sum += term.sum;
    total.weight += term.weight;
  }
  return total.weight == 0 ? 0 : total.sum / total.weight;
}

Interval bootstrap_ratio(std::span<const RatioTerm> documents, const BootstrapOptions& options) {
  return percentile_interval(documents.size(), options, [&](const std::vector<int32_t>& times) {
    RatioTerm total;
    for (size_t i = 0; i < documents.size(); ++i) {
      total.sum += times[i] * documents[i].sum;
      total.weight += times[i] * documents[i].weight;
    }
    return total.weight == 0 ? 0 : total.sum / total.weight;
  });
}

Interval bootstrap_quantile(
    const ClusteredValues& sample, double q, const BootstrapOptions& options
) {
  require(
      sample.values.size() == sample.document.size(),
      "{} values of {} documents' tokens",
      sample.values.size(),
      sample.document.size()
  );
  // Descending, so that a replicate walks over the tail only.
  std::vector<size_t> order(sample.values.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return sample.values[a] != sample.values[b] ? sample.values[a] > sample.values[b] : a < b;
  });
  std::vector<int64_t> length(static_cast<size_t>(sample.documents));
  for (const int32_t document : sample.document) ++length.at(static_cast<size_t>(document));
  return percentile_interval(length.size(), options, [&](const std::vector<int32_t>& times) {
    int64_t total = 0;
    for (size_t i = 0; i < length.size(); ++i) total += times[i] * length[i];
    const double beyond = (1 - q) * static_cast<double>(total);
    int64_t seen = 0;
    for (const size_t i : order) {
      seen += times[static_cast<size_t>(sample.document[i])];
      if (static_cast<double>(seen) > beyond) return sample.values[i];
    }
    return order.empty() ? 0.0 : sample.values[order.back()];
  });
}

}  // namespace hone
