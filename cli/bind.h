// Binds a step's fields to command-line flags.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "recipes/engine/step.h"

namespace hone {

// Adds a flag for every field of `step` ("--max-tokens"): the first input becomes the positional
// argument MODEL, the output -o,--output. Defaults shown in --help are the step's own. `step` must
// outlive `command`.
void bind_step(CLI::App& command, Step& step);

// Global flags, set before any command runs.
struct GlobalOptions {
  bool json = false;  // machine-readable result on stdout
  bool quiet = false;
  int threads = 0;  // 0: all cores
};
GlobalOptions& global_options();

// Runs the step after parsing: prints its summary as JSON with --json, otherwise `print(summary)`
// when given. Ends the program's command with the outcome's exit code.
void run_bound_step(Step& step, const std::function<void(const StepOutcome&)>& print = nullptr);

// Exit code of the command that ran; main() returns it.
int& exit_code();

// Examples shown below --help, one a line.
std::string examples(std::initializer_list<const char*> lines);

}  // namespace hone
