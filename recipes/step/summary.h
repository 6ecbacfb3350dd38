// The closing table of a recipe run.
#pragma once

#include <string>

#include "recipes/engine/recipe.h"

namespace hone {

// One line per step (done or skipped, time, key figures), the paths of reports, and how to serve
// the result.
std::string recipe_summary(const Recipe& recipe, const RecipeResult& result, bool dry_run);

}  // namespace hone
