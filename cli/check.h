#pragma once

#include <CLI/CLI.hpp>

namespace hone {

// `hone check MODEL`: would engines load it, and load it right (quant/check.h)? Exit code 3 when a
// check finds a fault; warnings do not count.
void add_check(CLI::App& app);

}  // namespace hone
