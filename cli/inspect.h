#pragma once

#include <CLI/CLI.hpp>

namespace hone {

// `hone inspect MODEL`: what is in a checkpoint (quant/inspect.h). Exit code 3 when it has faults.
void add_inspect(CLI::App& app);

}  // namespace hone
