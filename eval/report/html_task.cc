#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "eval/report/forest.h"
#include "eval/report/html_part.h"
#include "eval/report/html_text.h"
#include "eval/report/terminal.h"
#include "eval/stat/quantile.h"

namespace hone {
namespace {

constexpr size_t kShownWorst = 10;

std::string rate_html(int64_t right, int64_t n) {
  return fmt::format(
      "<b>{:.1f} %</b><small>{}/{}</small>",
      100.0 * static_cast<double>(right) / static_cast<double>(n),
      right,
      n
  );
}

std::string format_p(double p) {
  return p >= 0.001 ? fmt::format("{:.3f}", p) : fmt::format("{:.0e}", p);
}

std::string metric_row(const PairedMetric& metric, const Policy& policy, double reach) {
  const PairedCounts& counts = metric.counts;
  const Decision& decision = metric.decision;
  const std::string verdict = metric.decides ? verdict_chip(decision.verdict)
                                             : "<span class=\"chip shown\">shown only</span>";
  return fmt::format(
      "<tr{}><th scope=\"row\">{}<small>{}</small></th><td class=\"num\">{}</td><td "
      "class=\"num\">{}</td><td class=\"num\">{:+.1f}</td><td>{}<small class=\"range\">{}</small>"
      "</td><td class=\"num\">{} lost<br>{} gained</td><td class=\"num\">{}</td><td "
      "class=\"num\">{:.1f}</td><td>{}</td></tr>\n",
      metric.decides ? "" : " class=\"aside\"",
      escape_html(metric.title),
      escape_html(metric.definition),
      rate_html(counts.reference_right(), counts.n()),
      rate_html(counts.candidate_right(), counts.n()),
      counts.difference() * 100,
      forest_svg(metric, policy.margin, reach),
      format_interval_points(decision.interval95),
      counts.lost,
      counts.gained,
      format_p(decision.test.exact),
      decision.provable_margin * 100,
      verdict
  );
}

std::string metrics_html(const TaskResult& task, const Policy& policy, double reach) {
  std::string out =
      "<div class=\"scroll\"><table class=\"metrics\"><thead><tr><th scope=\"col\">Metric</th><th "
      "scope=\"col\">Reference</th><th scope=\"col\">Candidate</th><th scope=\"col\">Difference"
      "<small>points</small></th><th scope=\"col\">95 % interval<small>band: "
      "margin</small></th><th "
      "scope=\"col\">Flips</th><th scope=\"col\">p<small>McNemar</small></th><th "
      "scope=\"col\">Provable<small>points</small></th><th scope=\"col\">Verdict</th></tr></thead>"
      "<tbody>\n";
  for (const PairedMetric& metric : task.metrics)
    if (metric.counts.n() > 0) out += metric_row(metric, policy, reach);
  return out + "</tbody></table></div>\n";
}

std::string rates_html(const TaskResult& task) {
  std::string out =
      "<div class=\"half\"><h3>How the answers ended</h3><table "
      "class=\"rates\"><thead><tr><td></td><th "
      "scope=\"col\">Reference</th><th scope=\"col\">Candidate</th><th scope=\"col\">of</th></tr>"
      "</thead><tbody>\n";
  for (const RatePair& rate : task.rates)
    out += fmt::format(
        "<tr><th scope=\"row\">{}</th><td class=\"num\">{}</td><td class=\"num\">{}</td><td "
        "class=\"num\">{}</td></tr>\n",
        escape_html(rate.title),
        rate.reference,
        rate.candidate,
        rate.total
    );
  return out + "</tbody></table></div>\n";
}

std::string canvas(
    const TaskResult& task,
    std::string_view kind,
    std::string_view title,
    std::string_view description
) {
  return fmt::format(
      "<figure class=\"half\"><h3>{0}</h3><div class=\"chart\"><canvas data-task=\"{1}\" "
      "data-chart=\"{2}\" role=\"img\" aria-label=\"{0}. {3}\"></canvas></div><figcaption>{3}"
      "</figcaption></figure>\n",
      title,
      escape_html(task.key),
      kind,
      description
  );
}

std::string tail_html(const std::optional<Estimate>& estimate, double q) {
  if (estimate)
    return fmt::format(
        "{}<small>{} to {}</small>",
        format_kl(estimate->value),
        format_kl(estimate->interval95.low),
        format_kl(estimate->interval95.high)
    );
  return fmt::format("too few tokens<small>needs {}</small>", samples_for_quantile(q));
}

std::string figure_html(std::string_view label, const std::string& value) {
  return fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", label, value);
}

std::string distribution_figures(const DistributionSummary& d) {
  const auto kl = [](const Estimate& e) {
    return fmt::format(
        "{}<small>{} to {}</small>",
        format_kl(e.value),
        format_kl(e.interval95.low),
        format_kl(e.interval95.high)
    );
  };
  const auto percent = [](const Estimate& e) {
    return fmt::format(
        "{:.2f} %<small>{:.2f} to {:.2f}</small>",
        e.value * 100,
        e.interval95.low * 100,
        e.interval95.high * 100
    );
  };
  std::string out = "<dl class=\"figures\">\n";
  out += figure_html("Mean KL, nats", kl(d.mean_kl));
  out += figure_html("Median KL", format_kl(d.median_kl));
  out += figure_html("p99 KL", tail_html(d.p99_kl, 0.99));
  out += figure_html("p99.9 KL", tail_html(d.p999_kl, 0.999));
  out += figure_html("Largest KL", format_kl(d.max_kl));
  out += figure_html("Same most likely token", percent(d.top1));
  out += figure_html("Total variation", percent(d.mean_tv));
  out += figure_html(
      "Perplexity ratio",
      fmt::format(
          "{:.4f}<small>{:.4f} to {:.4f}</small>",
          d.perplexity_ratio.value,
          d.perplexity_ratio.interval95.low,
          d.perplexity_ratio.interval95.high
      )
  );
  out += figure_html(
      "Perplexity",
      fmt::format("{:.3f} &rarr; {:.3f}", d.reference_perplexity, d.candidate_perplexity)
  );
  out += figure_html(
      "Texts without any change",
      fmt::format(
          "{} of {}<small>{} tokens in all</small>", d.same_top1_documents, d.documents, d.tokens
      )
  );
  return out + "</dl>\n<p class=\"note\">Small figures: 95 % interval, bootstrap over texts.</p>\n";
}

std::string token_html(const std::string& token) {
  std::string shown;
  for (const char c : token) {
    if (c == '\n')
      shown += "\xE2\x86\xB5";  // a line end must be seen
    else if (c == ' ')
      shown += "\xC2\xB7";  // middle dot
    else
      shown += c;
  }
  return "<code>" + escape_html(shown) + "</code>";
}

std::string worst_html(const DistributionSummary& d) {
  if (d.worst.empty()) return {};
  std::string out =
      "<details><summary>The tokens where the models differ most</summary><div "
      "class=\"scroll\"><table><thead><tr><th scope=\"col\">KL</th><th scope=\"col\">Text "
      "before</th><th scope=\"col\">Reference says</th><th scope=\"col\">Candidate says</th><th "
      "scope=\"col\">Text and position</th></tr></thead><tbody>\n";
  for (size_t i = 0; i < std::min(d.worst.size(), kShownWorst); ++i) {
    const WorstToken& worst = d.worst[i];
    out += fmt::format(
        "<tr><td class=\"num\">{}</td><td class=\"context\">{}</td><td>{}</td><td>{}</td><td "
        "class=\"num\">{}, {}</td></tr>\n",
        format_kl(worst.token.distance.kl),
        escape_html(worst.context),
        token_html(worst.reference_top),
        token_html(worst.candidate_top),
        worst.token.document,
        worst.token.position
    );
  }
  return out + "</tbody></table></div></details>\n";
}

}  // namespace

std::string task_html(const TaskResult& task, const Policy& policy, double reach) {
  std::string out = fmt::format(
      "<section id=\"task-{}\">\n<div class=\"title\"><h2>{}</h2>{}</div>\n<p>{}</p>\n<p "
      "class=\"reason {}\">{}</p>\n",
      escape_html(task.key),
      escape_html(task.title),
      verdict_chip(task.verdict),
      escape_html(task.description),
      verdict_name(task.verdict),
      escape_html(task.reason)
  );
  if (task.distribution) {
    out += distribution_figures(*task.distribution);
    out += "<div class=\"row\">";
    out += canvas(
        task,
        "kl-histogram",
        "How far single tokens move",
        "Tokens by KL on a logarithmic axis; those at the left end are practically unchanged."
    );
    out += canvas(
        task,
        "kl-position",
        "Along the answer",
        "Mean KL and share of other top tokens by position in the scored text."
    );
    out += "</div>\n" + worst_html(*task.distribution);
  }
  const bool scored = std::any_of(task.metrics.begin(), task.metrics.end(), [](const auto& m) {
    return m.counts.n() > 0;
  });
  if (scored) {
    out += metrics_html(task, policy, reach);
    out += "<div class=\"row\">" + rates_html(task);
    out += canvas(
        task, "rates", "Scores", "Share of items, with the 95 % interval of each share alone."
    );
    out += "</div>\n";
  }
  return out;
}

}  // namespace hone
