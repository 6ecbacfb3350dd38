#pragma once

#include <CLI/CLI.hpp>

namespace hone {

// `hone run RECIPE`: runs a recipe (recipes/engine/recipe.h).
void add_run(CLI::App& app);

}  // namespace hone
