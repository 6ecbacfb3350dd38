#include "eval/report/forest.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace hone {
namespace {

constexpr double kWidth = 240;
constexpr double kHeight = 30;
constexpr double kMiddle = kHeight / 2;

}  // namespace

std::string forest_svg(const PairedMetric& metric, double margin, double reach) {
  const Decision& decision = metric.decision;
  const double pad = 6;
  const auto x = [&](double difference) {
    const double clamped = std::clamp(difference / reach, -1.0, 1.0);
    return pad + (kWidth - 2 * pad) * (clamped + 1) / 2;
  };
  const auto line = [&](const char* kind, const Interval& range) {
    return fmt::format(
        R"(<line class="{}" x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}"/>)",
        kind,
        x(range.low),
        x(range.high),
        kMiddle,
        kMiddle
    );
  };
  std::string out = fmt::format(
      R"(<svg class="forest" viewBox="0 0 {:g} {:g}" role="img" aria-label="difference {:+.1f} points, 95 % interval {:+.1f} to {:+.1f}, margin {:g}">)",
      kWidth,
      kHeight,
      metric.counts.difference() * 100,
      decision.interval95.low * 100,
      decision.interval95.high * 100,
      margin * 100
  );
  out += fmt::format(
      R"(<rect class="band" x="{:.1f}" width="{:.1f}" y="2" height="{:g}"/>)",
      x(-margin),
      x(margin) - x(-margin),
      kHeight - 4
  );
  out += fmt::format(
      R"(<line class="zero" x1="{0:.1f}" x2="{0:.1f}" y1="2" y2="{1:g}"/>)", x(0), kHeight - 2
  );
  out += line("ci95", decision.interval95);
  out += line("ci90", decision.interval90);
  if (decision.interval95.low < -reach)
    out += fmt::format(R"(<path class="arrow" d="M6 {0:g}l6 -4v8z"/>)", kMiddle);
  if (decision.interval95.high > reach)
    out += fmt::format(R"(<path class="arrow" d="M{:g} {:g}l-6 -4v8z"/>)", kWidth - 6, kMiddle);
  out += fmt::format(
      R"(<circle class="dot" cx="{:.1f}" cy="{:.1f}" r="4"/>)",
      x(metric.counts.difference()),
      kMiddle
  );
  return out + "</svg>";
}

double forest_reach(const Evaluation& evaluation) {
  double widest = 2 * evaluation.policy.margin;
  for (const TaskResult& task : evaluation.tasks)
    for (const PairedMetric& metric : task.metrics)
      if (metric.decides && metric.counts.n() > 0)
        widest = std::max(
            {widest,
             std::abs(metric.decision.interval95.low) * 1.1,
             std::abs(metric.decision.interval95.high) * 1.1}
        );
  return std::min(widest, 1.0);
}

}  // namespace hone
