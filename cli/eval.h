#pragma once

#include <CLI/CLI.hpp>

namespace hone {

// `hone eval CANDIDATE --reference MODEL -o report`.
void add_eval(CLI::App& app);

}  // namespace hone
