#include "cli/calibrate.h"

#include <iostream>
#include <memory>

#include "cli/bind.h"
#include "recipes/step/calibrate.h"

namespace hone {

void add_calibrate(CLI::App& app) {
  auto step = std::make_shared<CalibrateStep>();
  CLI::App* command =
      app.add_subcommand("calibrate", "Measure activations and the sensitivity of every module");
  bind_step(*command, *step);
  command->footer(examples(
      {"hone calibrate MODEL --data traces.jsonl -o calib.h5",
       "hone calibrate MODEL --data book.txt -o calib.h5 --tokens 8192 --sensitivity-tokens 0"}
  ));
  command->callback([step] {
    run_bound_step(*step, [](const StepOutcome& outcome) {
      std::cout << calibration_table(outcome);
    });
  });
}

}  // namespace hone
