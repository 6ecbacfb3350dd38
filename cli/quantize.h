#pragma once

#include <CLI/CLI.hpp>

namespace hone {

// `hone quantize MODEL -o OUT`: recipes/step/quantize.h.
void add_quantize(CLI::App& app);

}  // namespace hone
