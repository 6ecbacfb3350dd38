#include "eval/report/json.h"

#include <cmath>

#include "eval/stat/quantile.h"

namespace hone {
namespace {

Json interval_json(const Interval& interval) {
  return Json::array({interval.low, interval.high});
}

Json estimate_json(const Estimate& estimate) {
  return {{"value", estimate.value}, {"interval95", interval_json(estimate.interval95)}};
}

// Quantiles that the sample cannot know say so instead of showing a number.
Json tail_json(const std::optional<Estimate>& estimate, double q) {
  if (estimate) return estimate_json(*estimate);
  return {
      {"value", nullptr}, {"reason", "too few tokens"}, {"tokens_needed", samples_for_quantile(q)}};
}

Json model_json(const ModelInfo& model) {
  return {
      {"name", model.name},
      {"hash", model.hash},
      {"architecture", model.architecture},
      {"formats", model.formats},
      {"weight_bytes", model.weight_bytes}};
}

Json side_json(int64_t right, int64_t n) {
  return {
      {"right", right},
      {"rate", static_cast<double>(right) / static_cast<double>(n)},
      {"interval95", interval_json(wilson_interval(right, n, 0.95))}};
}

Json metric_json(const PairedMetric& metric) {
  const int64_t n = metric.counts.n();
  Json out = {
      {"key", metric.key},
      {"title", metric.title},
      {"definition", metric.definition},
      {"decides", metric.decides},
      {"items", n}};
  if (n == 0) return out;
  const Decision& decision = metric.decision;
  out["reference"] = side_json(metric.counts.reference_right(), n);
  out["candidate"] = side_json(metric.counts.candidate_right(), n);
  out["difference"] = metric.counts.difference();
  out["interval95"] = interval_json(decision.interval95);
  out["interval90"] = interval_json(decision.interval90);
  out["flip_rate"] = metric.counts.flip_rate();
  out["lost"] = metric.lost;
  out["gained"] = metric.gained;
  out["mcnemar"] = {
      {"exact", decision.test.exact},
      {"mid_p", decision.test.mid_p},
      {"adjusted", decision.adjusted_p}};
  out["provable_margin"] = decision.provable_margin;
  out["uninformative"] = decision.uninformative;
  out["verdict"] = std::string(verdict_name(decision.verdict));
  return out;
}

Json worst_json(const WorstToken& worst) {
  return {
      {"document", worst.token.document},
      {"position", worst.token.position},
      {"kl", worst.token.distance.kl},
      {"context", worst.context},
      {"actual", worst.actual},
      {"reference_top", worst.reference_top},
      {"candidate_top", worst.candidate_top}};
}

Json distribution_json(const DistributionSummary& d) {
  Json out = {
      {"documents", d.documents},
      {"tokens", d.tokens},
      {"mean_kl", estimate_json(d.mean_kl)},
      {"median_kl", d.median_kl},
      {"p90_kl", d.p90_kl ? Json(*d.p90_kl) : Json()},
      {"p99_kl", tail_json(d.p99_kl, 0.99)},
      {"p999_kl", tail_json(d.p999_kl, 0.999)},
      {"max_kl", std::isfinite(d.max_kl) ? Json(d.max_kl) : Json("infinite")},
      {"mean_total_variation", estimate_json(d.mean_tv)},
      {"top1_agreement", estimate_json(d.top1)},
      {"reference_perplexity", d.reference_perplexity},
      {"candidate_perplexity", d.candidate_perplexity},
      {"perplexity_ratio", estimate_json(d.perplexity_ratio)},
      {"same_top1_documents", d.same_top1_documents}};
  Json histogram = Json::array();
  for (const KlBin& bin : d.histogram)
    histogram.push_back(
        {{"low", bin.low},
         {"high", std::isfinite(bin.high) ? Json(bin.high) : Json()},
         {"tokens", bin.count}}
    );
  out["histogram"] = std::move(histogram);
  Json positions = Json::array();
  for (const PositionBucket& b : d.by_position)
    positions.push_back(
        {{"begin", b.begin},
         {"end", b.end},
         {"tokens", b.tokens},
         {"mean_kl", b.mean_kl},
         {"top1_agreement", b.top1}}
    );
  out["by_position"] = std::move(positions);
  Json worst = Json::array();
  for (const WorstToken& token : d.worst) worst.push_back(worst_json(token));
  out["worst"] = std::move(worst);
  return out;
}

Json task_json(const TaskResult& task) {
  Json metrics = Json::array();
  for (const PairedMetric& metric : task.metrics) metrics.push_back(metric_json(metric));
  Json rates = Json::array();
  for (const RatePair& rate : task.rates)
    rates.push_back(
        {{"key", rate.key},
         {"title", rate.title},
         {"reference", rate.reference},
         {"candidate", rate.candidate},
         {"total", rate.total}}
    );
  return {
      {"key", task.key},
      {"title", task.title},
      {"description", task.description},
      {"verdict", std::string(verdict_name(task.verdict))},
      {"reason", task.reason},
      {"data",
       {{"name", task.data.name}, {"sha256", task.data.sha256}, {"items", task.data.items}}},
      {"metrics", std::move(metrics)},
      {"rates", std::move(rates)},
      {"distribution", task.distribution ? distribution_json(*task.distribution) : Json()}};
}

}  // namespace

Json report_json(const Evaluation& evaluation) {
  Json tasks = Json::array();
  for (const TaskResult& task : evaluation.tasks) tasks.push_back(task_json(task));
  const Policy& policy = evaluation.policy;
  return {
      {"schema", std::string(kReportSchema)},
      {"hone", evaluation.hone_version},
      {"verdict", std::string(verdict_name(evaluation.verdict))},
      {"exit_code", verdict_exit_code(evaluation.verdict)},
      {"headline", evaluation.headline},
      {"reference", model_json(evaluation.reference)},
      {"candidate", model_json(evaluation.candidate)},
      {"profile", evaluation.profile},
      {"policy",
       {{"margin", policy.margin},
        {"kl_limit", policy.kl_limit},
        {"max_truncated", policy.max_truncated}}},
      {"options", evaluation.options},
      {"tasks", std::move(tasks)}};
}

Json report_summary(const Evaluation& evaluation) {
  Json tasks = Json::object();
  for (const TaskResult& task : evaluation.tasks) {
    Json figures = {{"verdict", std::string(verdict_name(task.verdict))}, {"reason", task.reason}};
    if (task.distribution) {
      figures["mean_kl"] = task.distribution->mean_kl.value;
      figures["top1_agreement"] = task.distribution->top1.value;
      figures["perplexity_ratio"] = task.distribution->perplexity_ratio.value;
    }
    for (const PairedMetric& metric : task.metrics) {
      const int64_t n = metric.counts.n();
      if (n == 0) continue;
      figures[metric.key] = {
          {"reference", static_cast<double>(metric.counts.reference_right()) / double(n)},
          {"candidate", static_cast<double>(metric.counts.candidate_right()) / double(n)},
          {"interval95", interval_json(metric.decision.interval95)},
          {"verdict", std::string(verdict_name(metric.decision.verdict))}};
    }
    tasks[task.key] = std::move(figures);
  }
  return {
      {"verdict", std::string(verdict_name(evaluation.verdict))},
      {"headline", evaluation.headline},
      {"reference", evaluation.reference.name},
      {"candidate", evaluation.candidate.name},
      {"profile", evaluation.profile},
      {"margin_points", evaluation.policy.margin * 100},
      {"tasks", std::move(tasks)}};
}

}  // namespace hone
