// What serving engines are known to refuse or to do badly, as far as shapes and formats decide it.
//
// Sources: the loaders of vLLM, SGLang and TensorRT-LLM (docs/formats.md lists what each reads).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "quant/plan.h"

namespace hone {

// Names accepted by --for.
std::vector<std::string> engine_names();

// Warnings for a finished plan, one per engine and cause, naming the first module concerned.
// `engine` restricts them to that engine; empty: all. Throws UsageError for unknown engines.
std::vector<PlanWarning> engine_warnings(const Plan& plan, std::string_view engine);

}  // namespace hone
