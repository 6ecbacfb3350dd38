// The table that `hone eval` prints.
#pragma once

#include <string>

#include "eval/metric/result.h"

namespace hone {

// Plain text of at most 100 columns, verdict first. `evaluation` has been judged.
std::string report_text(const Evaluation& evaluation);

// Figures in the form both reports use.
std::string format_rate(int64_t right, int64_t n);             // "246/300  82.0 %"
std::string format_interval_points(const Interval& interval);  // "-2.9 .. +0.6"
std::string format_kl(double nats);                            // "0.0123", "1.2e-05", "0"

}  // namespace hone
