#include "eval/report/html.h"

#include <fmt/format.h>

#include "core/base/progress.h"
#include "core/json/json.h"
#include "eval/report/asset.h"
#include "eval/report/forest.h"
#include "eval/report/html_part.h"
#include "eval/report/html_text.h"
#include "eval/report/json.h"
#include "eval/stat/sample_size.h"

namespace hone {
namespace {

constexpr size_t kShownFlips = 20;

std::string_view verdict_sign(Verdict verdict) {
  switch (verdict) {
    case Verdict::kEquivalent:
    case Verdict::kNotWorse:
      return "\xE2\x9C\x93";  // check mark
    case Verdict::kInconclusive:
      return "?";
    case Verdict::kWorse:
      return "\xE2\x9C\x97";  // ballot x
    case Verdict::kInvalid:
      return "!";
  }
  return "";
}

std::string_view verdict_word(Verdict verdict) {
  return verdict == Verdict::kNotWorse ? "not worse" : verdict_name(verdict);
}

// Key figure of a task for its card.
std::string card_figure(const TaskResult& task) {
  if (task.distribution)
    return fmt::format(
        "KL {:.4f} &middot; same top token {:.1f} %",
        task.distribution->mean_kl.value,
        task.distribution->top1.value * 100
    );
  std::string out;
  for (const PairedMetric& metric : task.metrics) {
    const int64_t n = metric.counts.n();
    if (!metric.decides || n == 0) continue;
    const auto percent = [&](int64_t right) {
      return 100.0 * static_cast<double>(right) / static_cast<double>(n);
    };
    out = fmt::format(
        "{} {:.1f} % &rarr; {:.1f} %",
        escape_html(metric.title),
        percent(metric.counts.reference_right()),
        percent(metric.counts.candidate_right())
    );
  }
  return out;
}

// What was compared, in one line under the verdict.
std::string compare_html(const Evaluation& evaluation) {
  const auto side = [](std::string_view label, const ModelInfo& model) {
    return fmt::format(
        "{} <b>{}</b> ({}, {})",
        label,
        escape_html(model.name),
        escape_html(model.formats),
        format_bytes(static_cast<double>(model.weight_bytes))
    );
  };
  return fmt::format(
      "<p class=\"compare\">{} &middot; {} &middot; arithmetic <b>{}</b></p>\n",
      side("Candidate", evaluation.candidate),
      side("Reference", evaluation.reference),
      escape_html(evaluation.profile)
  );
}

std::string hero_html(const Evaluation& evaluation) {
  std::string out = fmt::format(
      "<header class=\"hero {}\">\n<p class=\"kicker\">Fidelity report</p>\n"
      "<h1><span class=\"sign\" aria-hidden=\"true\">{}</span>{}</h1>\n{}<div class=\"cards\">\n",
      verdict_name(evaluation.verdict),
      verdict_sign(evaluation.verdict),
      escape_html(evaluation.headline),
      compare_html(evaluation)
  );
  for (const TaskResult& task : evaluation.tasks)
    out += fmt::format(
        "<a class=\"card\" href=\"#task-{0}\">{1}<strong>{2}</strong><span class=\"figure\">{3}"
        "</span><span class=\"why\">{4}</span></a>\n",
        escape_html(task.key),
        verdict_chip(task.verdict),
        escape_html(task.title),
        card_figure(task),
        escape_html(task.reason)
    );
  return out + "</div>\n</header>\n";
}

std::string model_rows(const Evaluation& evaluation) {
  const ModelInfo& a = evaluation.reference;
  const ModelInfo& b = evaluation.candidate;
  const auto row = [](std::string_view label, const std::string& left, const std::string& right) {
    return fmt::format(
        "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td></tr>\n", label, left, right
    );
  };
  const auto code = [](const std::string& text) {
    return "<code>" + escape_html(text) + "</code>";
  };
  const auto size = [](const ModelInfo& model) {
    return format_bytes(static_cast<double>(model.weight_bytes));
  };
  std::string out = row("Model", escape_html(a.name), escape_html(b.name));
  out += row("Architecture", escape_html(a.architecture), escape_html(b.architecture));
  out += row("Weights", escape_html(a.formats), escape_html(b.formats));
  out += row("Size of weights", size(a), size(b));
  out += row("Content hash", code(a.hash), code(b.hash));
  return out;
}

std::string compared_html(const Evaluation& evaluation) {
  std::string out =
      "<section id=\"compared\">\n<h2>What was compared</h2>\n<div class=\"scroll\"><table "
      "class=\"plain\"><thead><tr><td></td><th scope=\"col\">Reference</th><th "
      "scope=\"col\">Candidate</th></tr></thead><tbody>\n" +
      model_rows(evaluation) + "</tbody></table></div>\n";
  out += fmt::format(
      "<p>Both ran in Hone {}, greedy decoding: the candidate with the arithmetic of profile "
      "<code>{}</code>, the reference with exact arithmetic. Every "
      "prompt was encoded with both tokenizers and chat templates; the token ids are {}.</p>\n",
      escape_html(evaluation.hone_version),
      escape_html(evaluation.profile),
      evaluation.verdict == Verdict::kInvalid ? "compared before anything is scored" : "identical"
  );
  out +=
      "<div class=\"scroll\"><table class=\"plain\"><thead><tr><th scope=\"col\">Task</th><th "
      "scope=\"col\">Data</th><th scope=\"col\">Items</th><th scope=\"col\">sha256</th></tr>"
      "</thead><tbody>\n";
  for (const TaskResult& task : evaluation.tasks)
    out += fmt::format(
        "<tr><th scope=\"row\">{}</th><td>{}</td><td class=\"num\">{}</td><td><code>{}</code></td>"
        "</tr>\n",
        escape_html(task.key),
        escape_html(task.data.name),
        task.data.items,
        escape_html(task.data.sha256)
    );
  return out + "</tbody></table></div>\n</section>\n";
}

// How many items other margins would need, at the flip rates that were seen.
std::string planning_html(const Evaluation& evaluation) {
  constexpr double kMargins[] = {0.05, 0.03, 0.02, 0.01};
  std::string rows;
  for (const TaskResult& task : evaluation.tasks) {
    for (const PairedMetric& metric : task.metrics) {
      if (!metric.decides || metric.counts.n() == 0 || metric.counts.flips() == 0) continue;
      rows += fmt::format(
          "<tr><th scope=\"row\">{}</th><td class=\"num\">{:.1f} %</td><td class=\"num\">{}</td>",
          escape_html(metric.title),
          metric.counts.flip_rate() * 100,
          metric.counts.n()
      );
      for (const double margin : kMargins)
        rows += fmt::format(
            "<td class=\"num\">{}</td>",
            items_for_equivalence({.flip_rate = metric.counts.flip_rate(), .margin = margin})
        );
      rows += "</tr>\n";
    }
  }
  if (rows.empty()) return {};
  return "<h3>Items needed to prove a margin</h3>\n<p>At the flip rates seen here, with 80 % "
         "chance of success when there is no true difference.</p>\n<div "
         "class=\"scroll\"><table><thead><tr><th scope=\"col\">Metric</th><th scope=\"col\">Flip "
         "rate</th><th scope=\"col\">Items here</th><th scope=\"col\">5 points</th><th "
         "scope=\"col\">3 points</th><th scope=\"col\">2 points</th><th scope=\"col\">1 point</th>"
         "</tr></thead><tbody>\n" +
         rows + "</tbody></table></div>\n";
}

std::string method_html(const Evaluation& evaluation) {
  const Policy& policy = evaluation.policy;
  std::string out = fmt::format(
      "<section id=\"method\">\n<h2>How the verdict is reached</h2>\n<ul>\n"
      "<li><strong>Paired.</strong> Both models answer the same items, so what counts is how many "
      "outcomes flip, not two separate scores. The interval of the difference is Tango&rsquo;s "
      "score interval for paired proportions.</li>\n"
      "<li><strong>Margin: {0:g} points.</strong> <em>Equivalent</em> means that the 90 % interval "
      "of the difference lies inside &plusmn;{0:g} points (two one-sided tests at 5 %). The margin "
      "is what a set of this size can prove: a few hundred items with a few per cent of flips "
      "cannot resolve less, a larger set can (table below).</li>\n"
      "<li><strong>Worse</strong> means that a loss is proven (McNemar&rsquo;s exact test, p &lt; "
      "0.05 after Holm&rsquo;s correction over all deciding metrics) and a loss beyond the margin "
      "is not excluded.</li>\n"
      "<li><strong>Inconclusive</strong> is said where the data prove neither. &ldquo;No "
      "significant difference&rdquo; is never taken for equivalence.</li>\n"
      "<li><strong>Distributions.</strong> The 95 % interval of the mean KL (bootstrap over texts) "
      "must lie below {1:g} nats. Published 4-bit models of good quality lie between 0.01 and "
      "0.05, 8-bit models below 0.01. A quantile with fewer than 100 tokens beyond it is not "
      "reported.</li>\n"
      "<li><strong>Invalid</strong> is said where the prompts differ, or where more than {2:g} % "
      "of the reference&rsquo;s own answers were cut off or failed.</li>\n"
      "<li>The verdict is that of the worst task, a task&rsquo;s that of its worst deciding "
      "metric.</li>\n</ul>\n",
      policy.margin * 100,
      policy.kl_limit,
      policy.max_truncated * 100
  );
  return out + planning_html(evaluation) + "</section>\n";
}

}  // namespace

std::string verdict_chip(Verdict verdict) {
  return fmt::format(
      "<span class=\"chip {}\"><span aria-hidden=\"true\">{}</span> {}</span>",
      verdict_name(verdict),
      verdict_sign(verdict),
      verdict_word(verdict)
  );
}

std::string report_html(const Evaluation& evaluation) {
  const double reach = forest_reach(evaluation);
  std::string out =
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta "
      "name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta "
      "name=\"color-scheme\" content=\"light dark\">\n<title>";
  out += escape_html(evaluation.headline);
  out += "</title>\n<style>\n";
  out += report_css();
  out += "</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">Skip to the figures</a>\n";
  out += hero_html(evaluation);
  out += "<main id=\"main\">\n";
  for (const TaskResult& task : evaluation.tasks) {
    out += task_html(task, evaluation.policy, reach);
    out += flips_html(task, kShownFlips);
    out += "</section>\n";
  }
  out += compared_html(evaluation);
  out += method_html(evaluation);
  out += "</main>\n<footer><p>Made by Hone " + escape_html(evaluation.hone_version) +
         ". The same figures for machines: <code>report.json</code>; every answer: "
         "<code>samples.jsonl</code>.</p></footer>\n";
  out += "<script type=\"application/json\" id=\"report\">";
  out += escape_script_json(dump_json(report_json(evaluation)));
  out += "</script>\n<script>\n";
  out += chart_js();
  out += "\n</script>\n<script>\n";
  out += report_js();
  return out + "</script>\n</body>\n</html>\n";
}

}  // namespace hone
