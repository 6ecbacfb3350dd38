#pragma once

#include <CLI/CLI.hpp>

namespace hone {

// `hone serve MODEL [--draft HEAD]`: the OpenAI-compatible server.
void add_serve(CLI::App& app);

}  // namespace hone
