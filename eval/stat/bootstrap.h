// Bootstrap over documents. Tokens of one document depend on each other, so whole documents are
// drawn: resampling tokens would make every interval too narrow.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "eval/stat/interval.h"

namespace hone {

// Draws are keyed by (seed, replicate): the same on every machine and for every thread count.
struct BootstrapOptions {
  uint64_t seed = 0;
  int replicates = 2000;
  double level = 0.95;
};

// One document's contribution to a ratio of sums (mean over tokens: sum of values, token count).
struct RatioTerm {
  double sum = 0;
  double weight = 0;
};

// Sum of sums / sum of weights; 0 for no weight.
double ratio_of_sums(std::span<const RatioTerm> documents);

// Percentile interval of ratio_of_sums under resampling of documents. With fewer than two documents
// there is nothing to resample: throws UsageError.
Interval bootstrap_ratio(std::span<const RatioTerm> documents, const BootstrapOptions& options);

// Percentile interval of an upper quantile of all values under resampling of documents.
// values[i] belongs to document `document[i]` (0-based, < documents).
struct ClusteredValues {
  std::span<const double> values;
  std::span<const int32_t> document;
  int32_t documents = 0;
};
Interval bootstrap_quantile(
    const ClusteredValues& sample, double q, const BootstrapOptions& options
);

}  // namespace hone
