// A fit report for people and for machines.
#pragma once

#include <string>

#include "core/json/json.h"
#include "quant/fit/fit.h"

namespace hone {

// Tables: parameters, weights by scheme, cache, and what fills each GPU, with the verdict last.
std::string fit_text(const FitReport& report);
// Every number of the report in bytes, tokens or counts.
Json fit_json(const FitReport& report);

}  // namespace hone
