#include "eval/metric/distribution.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/base/error.h"
#include "eval/stat/bootstrap.h"
#include "eval/stat/quantile.h"

namespace hone {
namespace {

constexpr size_t kKeptLargest = 64;
constexpr int kFirstDecade = -8;
constexpr int kLastDecade = 2;
constexpr int kBinsPerDecade = 4;

bool larger(const ScoredToken& a, const ScoredToken& b) {
  if (a.distance.kl != b.distance.kl) return a.distance.kl > b.distance.kl;
  return a.document != b.document ? a.document < b.document : a.position < b.position;
}

std::vector<KlBin> histogram(const std::vector<double>& values) {
  std::vector<KlBin> bins;
  double low = 0;
  for (int i = kFirstDecade * kBinsPerDecade; i <= kLastDecade * kBinsPerDecade; ++i) {
    const double high = std::pow(10.0, static_cast<double>(i) / kBinsPerDecade);
    bins.push_back({low, high, 0});
    low = high;
  }
  bins.back().high = HUGE_VAL;
  for (const double value : values) {
    const auto bin = std::upper_bound(
        bins.begin(), bins.end() - 1, value, [](double v, const KlBin& b) { return v < b.high; }
    );
    ++bin->count;
  }
  return bins;
}

Estimate estimate(const std::vector<RatioTerm>& terms, const BootstrapOptions& options) {
  const double value = ratio_of_sums(terms);
  if (terms.size() < 2) return {value, {value, value}};
  return {value, bootstrap_ratio(terms, options)};
}

}  // namespace

void DistributionCollector::add(const ScoredToken& token) {
  check(token.document >= 0 && token.position >= 0, "scored token without a place");
  if (static_cast<size_t>(token.document) >= documents_.size())
    documents_.resize(static_cast<size_t>(token.document) + 1);
  Document& document = documents_[static_cast<size_t>(token.document)];
  const double agree = token.distance.top1_agrees ? 1.0 : 0.0;
  document.kl += token.distance.kl;
  document.tv += token.distance.tv;
  document.agree += agree;
  document.reference_nll -= token.reference_logprob;
  document.candidate_nll -= token.candidate_logprob;
  document.tokens += 1;
  kl_.push_back(token.distance.kl);
  document_of_.push_back(token.document);

  const auto bucket = static_cast<size_t>(std::bit_width(static_cast<uint32_t>(token.position)));
  if (bucket >= buckets_.size()) buckets_.resize(bucket + 1);
  buckets_[bucket].kl += token.distance.kl;
  buckets_[bucket].agree += token.distance.top1_agrees ? 1 : 0;
  ++buckets_[bucket].tokens;

  if (largest_.size() == kKeptLargest && !larger(token, largest_.back())) return;
  largest_.insert(std::upper_bound(largest_.begin(), largest_.end(), token, larger), token);
  if (largest_.size() > kKeptLargest) largest_.pop_back();
}

DistributionSummary DistributionCollector::summary(uint64_t seed, size_t worst) const {
  require_data(!kl_.empty(), "no token was scored: the kl data hold no text to compare");
  std::vector<RatioTerm> kl;
  std::vector<RatioTerm> tv;
  std::vector<RatioTerm> agree;
  std::vector<RatioTerm> shift;
  DistributionSummary out;
  RatioTerm reference;
  std::vector<int32_t> renumbered(documents_.size());
  for (size_t i = 0; i < documents_.size(); ++i) {
    const Document& d = documents_[i];
    renumbered[i] = static_cast<int32_t>(kl.size());
    if (d.tokens == 0) continue;
    kl.push_back({d.kl, d.tokens});
    tv.push_back({d.tv, d.tokens});
    agree.push_back({d.agree, d.tokens});
    shift.push_back({d.candidate_nll - d.reference_nll, d.tokens});
    reference.sum += d.reference_nll;
    reference.weight += d.tokens;
    if (d.agree == d.tokens) ++out.same_top1_documents;
  }
  const BootstrapOptions bootstrap{.seed = seed};
  out.documents = static_cast<int64_t>(kl.size());
  out.tokens = tokens();
  out.mean_kl = estimate(kl, bootstrap);
  out.mean_tv = estimate(tv, bootstrap);
  out.top1 = estimate(agree, bootstrap);
  const Estimate log_ratio = estimate(shift, bootstrap);
  out.perplexity_ratio = {
      std::exp(log_ratio.value),
      {std::exp(log_ratio.interval95.low), std::exp(log_ratio.interval95.high)}};
  const double nll = reference.sum / reference.weight;
  out.reference_perplexity = std::exp(nll);
  out.candidate_perplexity = std::exp(nll + log_ratio.value);

  std::vector<double> sorted = kl_;
  std::sort(sorted.begin(), sorted.end());
  out.median_kl = quantile_sorted(sorted, 0.5);
  out.max_kl = sorted.back();
  out.p90_kl = tail_quantile_sorted(sorted, 0.9);
  std::vector<int32_t> document_of(document_of_.size());
  for (size_t i = 0; i < document_of.size(); ++i)
    document_of[i] = renumbered[static_cast<size_t>(document_of_[i])];
  const ClusteredValues clustered{kl_, document_of, static_cast<int32_t>(kl.size())};
  const auto tail = [&](double q) -> std::optional<Estimate> {
    const auto value = tail_quantile_sorted(sorted, q);
    if (!value) return std::nullopt;
    if (kl.size() < 2) return Estimate{*value, {*value, *value}};
    return Estimate{*value, bootstrap_quantile(clustered, q, bootstrap)};
  };
  out.p99_kl = tail(0.99);
  out.p999_kl = tail(0.999);

  out.histogram = histogram(kl_);
  for (size_t i = 0; i < buckets_.size(); ++i) {
    const Bucket& b = buckets_[i];
    if (b.tokens == 0) continue;
    const double n = static_cast<double>(b.tokens);
    out.by_position.push_back(
        {i == 0 ? 0 : int64_t{1} << (i - 1),
         int64_t{1} << i,
         b.tokens,
         b.kl / n,
         static_cast<double>(b.agree) / n}
    );
  }
  for (const ScoredToken& token : largest_) {
    if (out.worst.size() == worst || token.distance.kl == 0) break;
    out.worst.push_back(
        {.token = token, .context = {}, .actual = {}, .reference_top = {}, .candidate_top = {}}
    );
  }
  return out;
}

}  // namespace hone
