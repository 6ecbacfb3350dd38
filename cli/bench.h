#pragma once

#include <CLI/CLI.hpp>

namespace hone {

// `hone bench decode MODEL`: speed and acceptance (recipes/step/bench_decode.h).
void add_bench(CLI::App& app);

}  // namespace hone
