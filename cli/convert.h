// hone convert: a checkpoint in another form, without choosing new codes.
#pragma once

#include <CLI/CLI.hpp>

namespace hone {

void add_convert(CLI::App& app);

}  // namespace hone
