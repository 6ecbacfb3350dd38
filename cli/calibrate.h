#pragma once

#include <CLI/CLI.hpp>

namespace hone {

// `hone calibrate MODEL --data FILE -o calib.h5`.
void add_calibrate(CLI::App& app);

}  // namespace hone
