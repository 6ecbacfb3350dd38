// report.html: one self-contained file that works offline, in light and dark, and on paper.
#pragma once

#include <string>

#include "eval/metric/result.h"

namespace hone {

// The whole document. `evaluation` has been judged. Tables are plain HTML; charts are drawn by the
// inlined chart.js and repeat what tables say.
std::string report_html(const Evaluation& evaluation);

}  // namespace hone
