#include "eval/metric/policy.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "eval/stat/sample_size.h"

namespace hone {

void PairedMetric::add(int64_t item, bool reference, bool candidate) {
  counts.add(reference, candidate);
  if (reference && !candidate) lost.push_back(item);
  if (!reference && candidate) gained.push_back(item);
}

std::string format_points(double fraction) {
  const double points = fraction * 100;
  if (std::abs(points) < 0.05) return "no difference";
  return fmt::format("{:+.1f} points", points);
}

namespace {

double margin_points(const Policy& policy) {
  return policy.margin * 100;
}

// Why a metric is undecided, and what would decide it.
std::string inconclusive_reason(const PairedMetric& metric, const Policy& policy) {
  const double rate =
      static_cast<double>(metric.counts.reference_right()) / static_cast<double>(metric.counts.n());
  if (metric.decision.uninformative)
    return fmt::format(
        "{}: the reference itself gets only {:.1f} % right, so no loss beyond {:g} points can show",
        metric.title,
        rate * 100,
        margin_points(policy)
    );
  const int64_t needed = items_for_equivalence(
      {.flip_rate =
           std::max(metric.counts.flip_rate(), 1.0 / static_cast<double>(metric.counts.n())),
       .margin = policy.margin}
  );
  const int64_t n = metric.counts.n();
  std::string advice;
  if (needed > n)
    advice = fmt::format("about {} items are needed at this flip rate, there are {}", needed, n);
  else
    advice =
        fmt::format("the difference observed is {}", format_points(metric.counts.difference()));
  return fmt::format(
      "{}: these data can prove {:.1f} points at best, not {:g}; {}",
      metric.title,
      metric.decision.provable_margin * 100,
      margin_points(policy),
      advice
  );
}

std::string metric_reason(const PairedMetric& metric, const Policy& policy) {
  const Interval& range = metric.decision.interval90;
  switch (metric.decision.verdict) {
    case Verdict::kWorse:
      return fmt::format(
          "{}: {} ({} lost, {} gained, p = {:.2g})",
          metric.title,
          format_points(metric.counts.difference()),
          metric.counts.lost,
          metric.counts.gained,
          metric.decision.adjusted_p
      );
    case Verdict::kInconclusive:
      return inconclusive_reason(metric, policy);
    case Verdict::kNotWorse:
      return fmt::format(
          "{}: a loss of more than {:g} points is excluded, a gain is not; check that the "
          "reference was asked as it should be",
          metric.title,
          margin_points(policy)
      );
    default:
      return fmt::format(
          "{}: difference between {:+.1f} and {:+.1f} points (90 % interval)",
          metric.title,
          range.low * 100,
          range.high * 100
      );
  }
}

void judge_distribution(const DistributionSummary& d, const Policy& policy, TaskResult& task) {
  const Interval& range = d.mean_kl.interval95;
  std::string relation = "straddles";
  if (range.high < policy.kl_limit) {
    task.verdict = Verdict::kEquivalent;
    relation = "lies below";
  } else if (range.low > policy.kl_limit) {
    task.verdict = Verdict::kWorse;
    relation = "lies above";
  } else {
    task.verdict = Verdict::kInconclusive;
  }
  task.reason = fmt::format(
      "Mean KL {:.4f} nats, 95 % interval {:.4f} to {:.4f}, {} the limit of {:g}",
      d.mean_kl.value,
      range.low,
      range.high,
      relation,
      policy.kl_limit
  );
}

// Too many answers of the reference cut off: then "right" measures the token limit.
void check_truncation(const Policy& policy, TaskResult& task) {
  for (const RatePair& rate : task.rates) {
    if (rate.key != "truncated" || rate.total == 0 || !task.invalid.empty()) continue;
    const double share = static_cast<double>(rate.reference) / static_cast<double>(rate.total);
    if (share > policy.max_truncated)
      task.invalid = fmt::format(
          "{} of the reference's {} answers were cut off by the token limit (at most {:g} % may "
          "be); raise --max-tokens",
          rate.reference,
          rate.total,
          policy.max_truncated * 100
      );
  }
}

void judge_task(const Policy& policy, TaskResult& task) {
  check_truncation(policy, task);
  if (!task.invalid.empty()) {
    task.verdict = Verdict::kInvalid;
    task.reason = task.invalid;
    return;
  }
  if (task.distribution) {
    judge_distribution(*task.distribution, policy, task);
    return;
  }
  const PairedMetric* worst = nullptr;
  for (const PairedMetric& metric : task.metrics) {
    if (!metric.decides || metric.counts.n() == 0) continue;
    const auto key = [](const PairedMetric& m) {
      return std::pair(static_cast<int>(m.decision.verdict), m.decision.provable_margin);
    };
    if (worst == nullptr || key(metric) > key(*worst)) worst = &metric;
  }
  if (worst == nullptr) {
    task.verdict = Verdict::kInvalid;
    task.invalid = task.reason = "no item could be scored";
    return;
  }
  task.verdict = worst->decision.verdict;
  task.reason = metric_reason(*worst, policy);
}

void decide_metrics(Evaluation& evaluation) {
  std::vector<PairedMetric*> deciding;
  std::vector<double> p;
  for (TaskResult& task : evaluation.tasks) {
    for (PairedMetric& metric : task.metrics) {
      if (metric.counts.n() == 0) continue;
      const double exact = mcnemar(metric.counts).exact;
      metric.decision = decide(metric.counts, evaluation.policy.margin, exact);
      if (!metric.decides || !task.invalid.empty()) continue;
      deciding.push_back(&metric);
      p.push_back(exact);
    }
  }
  const std::vector<double> adjusted = holm(p);
  for (size_t i = 0; i < deciding.size(); ++i)
    deciding[i]->decision = decide(deciding[i]->counts, evaluation.policy.margin, adjusted[i]);
}

std::string headline(const Evaluation& evaluation) {
  const std::string& candidate = evaluation.candidate.name;
  const std::string& reference = evaluation.reference.name;
  const double margin = margin_points(evaluation.policy);
  switch (evaluation.verdict) {
    case Verdict::kEquivalent:
      return fmt::format("{} is equivalent to {} within {:g} points", candidate, reference, margin);
    case Verdict::kNotWorse:
      return fmt::format(
          "{} is not worse than {} by more than {:g} points", candidate, reference, margin
      );
    case Verdict::kInconclusive:
      return fmt::format(
          "Inconclusive: these data cannot tell whether {} is within {:g} points of {}",
          candidate,
          margin,
          reference
      );
    case Verdict::kWorse:
      return fmt::format("{} is worse than {}", candidate, reference);
    case Verdict::kInvalid:
      return fmt::format(
          "Invalid: {} and {} were not compared on the same terms", candidate, reference
      );
  }
  return {};
}

}  // namespace

void judge(Evaluation& evaluation) {
  const Policy& policy = evaluation.policy;
  require(!evaluation.tasks.empty(), "no task to judge: name at least one of kl, gsm8k, tools");
  require(
      policy.margin > 0 && policy.margin < 1,
      "margin of {:g} points: expected more than 0 and less than 100",
      margin_points(policy)
  );
  require(policy.kl_limit > 0, "kl-limit {}: expected more than 0 nats", policy.kl_limit);
  for (TaskResult& task : evaluation.tasks) check_truncation(policy, task);
  decide_metrics(evaluation);
  evaluation.verdict = Verdict::kEquivalent;
  for (TaskResult& task : evaluation.tasks) {
    judge_task(policy, task);
    evaluation.verdict = worse_of(evaluation.verdict, task.verdict);
  }
  evaluation.headline = headline(evaluation);
}

}  // namespace hone
