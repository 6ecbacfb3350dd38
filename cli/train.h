#pragma once

#include <CLI/CLI.hpp>

namespace hone {

// `hone train eagle3 TARGET`: trains a draft head (recipes/step/train_eagle3.h).
void add_train(CLI::App& app);

}  // namespace hone
