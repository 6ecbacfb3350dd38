// A difference with its intervals and the margin, drawn as a small SVG.
#pragma once

#include <string>

#include "eval/metric/result.h"

namespace hone {

// One row of a forest plot: margin band, zero line, 95 % interval (thin), 90 % interval (thick),
// estimate (dot). `reach`: half width of the axis as a fraction (0.1: -10 to +10 points). What
// lies beyond is drawn to the edge with an arrow.
std::string forest_svg(const PairedMetric& metric, double margin, double reach);

// The axis that fits all metrics: twice the margin, or more when an interval needs it, at most 1.
double forest_reach(const Evaluation& evaluation);

}  // namespace hone
