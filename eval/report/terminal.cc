#include "eval/report/terminal.h"

#include <cmath>

#include <fmt/format.h>

#include "eval/stat/quantile.h"

namespace hone {

std::string format_rate(int64_t right, int64_t n) {
  if (n == 0) return "-";
  return fmt::format(
      "{}/{}  {:.1f} %", right, n, 100.0 * static_cast<double>(right) / static_cast<double>(n)
  );
}

std::string format_interval_points(const Interval& interval) {
  return fmt::format("{:+.1f} .. {:+.1f}", interval.low * 100, interval.high * 100);
}

std::string format_kl(double nats) {
  if (nats == 0) return "0";
  if (!std::isfinite(nats)) return "infinite";
  if (nats < 0.001) return fmt::format("{:.1e}", nats);
  return fmt::format("{:.4f}", nats);
}

namespace {

// "246/300 82.0 %" without the double space, for narrow columns.
std::string rate_cell(int64_t right, int64_t n) {
  return fmt::format("{:5.1f} %", 100.0 * static_cast<double>(right) / static_cast<double>(n));
}

std::string tail_text(const std::optional<Estimate>& estimate, double q) {
  if (estimate) return format_kl(estimate->value);
  return fmt::format("too few tokens (needs {})", samples_for_quantile(q));
}

void add_metrics(const TaskResult& task, std::string& out) {
  out += fmt::format(
      "  {:<28} {:>5} {:>9} {:>9} {:>7} {:>15} {:>9}  {}\n",
      "",
      "items",
      "reference",
      "candidate",
      "diff",
      "95 % interval",
      "flips",
      "verdict"
  );
  for (const PairedMetric& metric : task.metrics) {
    const int64_t n = metric.counts.n();
    if (n == 0) continue;
    const std::string verdict =
        metric.decides ? std::string(verdict_name(metric.decision.verdict)) : "shown only";
    out += fmt::format(
        "  {:<28} {:>5} {:>9} {:>9} {:>+7.1f} {:>15} {:>9}  {}\n",
        metric.title,
        n,
        rate_cell(metric.counts.reference_right(), n),
        rate_cell(metric.counts.candidate_right(), n),
        metric.counts.difference() * 100,
        format_interval_points(metric.decision.interval95),
        fmt::format("-{} +{}", metric.counts.lost, metric.counts.gained),
        verdict
    );
  }
  if (task.rates.empty()) return;
  out += fmt::format("  {:<40} {:>9} {:>9} {:>6}\n", "", "reference", "candidate", "of");
  for (const RatePair& rate : task.rates)
    out += fmt::format(
        "  {:<40} {:>9} {:>9} {:>6}\n", rate.title, rate.reference, rate.candidate, rate.total
    );
}

void add_distribution(const DistributionSummary& d, std::string& out) {
  const auto line = [&](std::string_view label, const std::string& value) {
    out += fmt::format("  {:<28} {}\n", label, value);
  };
  const auto range = [](const Estimate& e) {
    return fmt::format(
        "{}   95 % interval {} .. {}",
        format_kl(e.value),
        format_kl(e.interval95.low),
        format_kl(e.interval95.high)
    );
  };
  const auto share = [](const Estimate& e) {
    return fmt::format(
        "{:.2f} %   95 % interval {:.2f} .. {:.2f}",
        e.value * 100,
        e.interval95.low * 100,
        e.interval95.high * 100
    );
  };
  line("texts, tokens", fmt::format("{}, {}", d.documents, d.tokens));
  line("mean KL, nats", range(d.mean_kl));
  line("median KL", format_kl(d.median_kl));
  line("p99 KL", tail_text(d.p99_kl, 0.99));
  line("p99.9 KL", tail_text(d.p999_kl, 0.999));
  line("largest KL", format_kl(d.max_kl));
  line("same most likely token", share(d.top1));
  line("total variation", share(d.mean_tv));
  line(
      "perplexity",
      fmt::format(
          "{:.4f} -> {:.4f}, ratio {:.4f} ({:.4f} .. {:.4f})",
          d.reference_perplexity,
          d.candidate_perplexity,
          d.perplexity_ratio.value,
          d.perplexity_ratio.interval95.low,
          d.perplexity_ratio.interval95.high
      )
  );
  line("texts without any change", fmt::format("{} of {}", d.same_top1_documents, d.documents));
}

}  // namespace

std::string report_text(const Evaluation& evaluation) {
  std::string out = fmt::format("{}\n", evaluation.headline);
  out += fmt::format(
      "  reference {} ({}), candidate {} ({}), arithmetic {}\n",
      evaluation.reference.name,
      evaluation.reference.formats,
      evaluation.candidate.name,
      evaluation.candidate.formats,
      evaluation.profile
  );
  for (const TaskResult& task : evaluation.tasks) {
    out += fmt::format(
        "\n{}: {} ({}, {} items)\n  {}\n",
        task.key,
        verdict_name(task.verdict),
        task.data.name,
        task.data.items,
        task.reason
    );
    if (!task.metrics.empty() && task.metrics.front().counts.n() > 0) add_metrics(task, out);
    if (task.distribution) add_distribution(*task.distribution, out);
  }
  out += fmt::format(
      "\nMargin {:g} points; equivalent means that the 90 % interval of the difference lies inside "
      "it.\n",
      evaluation.policy.margin * 100
  );
  return out;
}

}  // namespace hone
