// What serving engines are known to refuse or to do badly, as far as shapes and formats decide it.
//
// Sources: the loaders of vLLM, SGLang and TensorRT-LLM (docs/formats.md lists what each reads).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "quant/plan.h"
#include "quant/select/acceptance.h"

namespace hone {

// Warnings for a finished plan, one per engine and cause, naming the first module concerned.
// `wanted` restricts them to the engines that it means (quant/select/acceptance.h). With "all",
// what an engine is not known to load is refused. Throws UsageError for unknown engines.
std::vector<PlanWarning> engine_warnings(const Plan& plan, std::string_view wanted);

}  // namespace hone
