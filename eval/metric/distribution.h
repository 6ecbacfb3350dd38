// Distance of next-token distributions, collected over documents that both models read.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "eval/stat/interval.h"
#include "runtime/op/distribution.h"

namespace hone {

// One scored position: the two distributions of the token at `position` of `document`.
struct ScoredToken {
  int32_t document = 0;
  int32_t position = 0;  // index among the document's scored tokens
  int32_t actual = 0;    // the token that stands there
  RowDistance distance;
  double reference_logprob = 0;  // of `actual`, nats
  double candidate_logprob = 0;
};

// A position where the models disagree most; the texts are filled by the task.
struct WorstToken {
  ScoredToken token;
  std::string context;  // text before the token
  std::string actual;
  std::string reference_top;
  std::string candidate_top;
};

// A bar of the KL histogram: count of tokens with low <= kl < high.
struct KlBin {
  double low = 0;
  double high = 0;
  int64_t count = 0;
};

// Positions [begin, end) of all documents together.
struct PositionBucket {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t tokens = 0;
  double mean_kl = 0;
  double top1 = 0;
};

// An estimate with its 95 % interval (bootstrap over documents).
struct Estimate {
  double value = 0;
  Interval interval95;
};

// What the report prints. KL in nats, KL(reference || candidate) = sum p (log p - log q).
// Quantiles are absent where fewer than 100 tokens lie beyond them.
struct DistributionSummary {
  int64_t documents = 0;
  int64_t tokens = 0;
  Estimate mean_kl;
  double median_kl = 0;
  std::optional<double> p90_kl;
  std::optional<Estimate> p99_kl;
  std::optional<Estimate> p999_kl;
  double max_kl = 0;
  Estimate mean_tv;  // chance that a coupled sampler picks another token
  Estimate top1;     // share of tokens with the same most likely token
  double reference_perplexity = 0;
  double candidate_perplexity = 0;
  Estimate perplexity_ratio;                // candidate / reference
  int64_t same_top1_documents = 0;          // no disagreement anywhere in the document
  std::vector<KlBin> histogram;             // decades in four parts; the first bin starts at 0
  std::vector<PositionBucket> by_position;  // powers of two
  std::vector<WorstToken> worst;
};

// Gathers tokens document by document and sums them up.
class DistributionCollector {
 public:
  // Documents in ascending order, positions ascending inside a document.
  void add(const ScoredToken& token);
  [[nodiscard]] int64_t tokens() const { return static_cast<int64_t>(kl_.size()); }
  // `worst`: how many of the largest distances to list. Intervals need two documents, otherwise
  // they equal the value. Throws DataError when nothing was added.
  [[nodiscard]] DistributionSummary summary(uint64_t seed, size_t worst) const;

 private:
  struct Document {
    double kl = 0;
    double tv = 0;
    double agree = 0;
    double reference_nll = 0;
    double candidate_nll = 0;
    double tokens = 0;
  };
  struct Bucket {
    double kl = 0;
    int64_t agree = 0;
    int64_t tokens = 0;
  };
  std::vector<Document> documents_;
  std::vector<double> kl_;
  std::vector<int32_t> document_of_;
  std::vector<Bucket> buckets_;
  std::vector<ScoredToken> largest_;
};

}  // namespace hone
