// The steps that a recipe may name.
#pragma once

#include <memory>
#include <string_view>

#include "recipes/engine/step.h"

namespace hone {

// Throws UsageError listing the known kinds.
std::unique_ptr<Step> make_step(std::string_view kind);

}  // namespace hone
