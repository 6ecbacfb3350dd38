#pragma once

#include <CLI/CLI.hpp>

namespace hone {

// `hone generate MODEL --prompt TEXT | --messages FILE`: one text.
void add_generate(CLI::App& app);

}  // namespace hone
