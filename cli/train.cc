#include "cli/train.h"

#include <iostream>
#include <memory>

#include "cli/bind.h"
#include "core/base/cancel.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "recipes/step/train_eagle3.h"

namespace hone {

void add_train(CLI::App& app) {
  CLI::App* train = app.add_subcommand("train", "Train a draft head against a frozen target");
  train->require_subcommand(1);
  auto step = std::make_shared<TrainEagle3Step>();
  CLI::App* command = train->add_subcommand(
      "eagle3", "Train an EAGLE-3 head on answers that the target gives itself"
  );
  bind_step(*command, *step);
  // The target may be named by a flag too, as heads and targets are easily mixed up.
  command->get_option("MODEL")->required(false);
  command->add_option("--target", step->target, "The same as MODEL");
  command->footer(examples(
      {"hone train eagle3 MODEL --data traces.jsonl -o head",
       "hone train eagle3 MODEL --data traces.jsonl -o head --limit 800 --epochs 4 --ttt-steps 5"}
  ));
  command->callback([step] {
    require(!step->target.empty(), "no target: hone train eagle3 MODEL --data FILE -o HEAD");
    try {
      run_bound_step(*step, [](const StepOutcome& outcome) {
        std::cout << training_table(outcome);
      });
    } catch (const Cancelled&) {
      log_warning(
          "interrupted; give the same command again to go on ({} keeps the answers and the last "
          "checkpoint)",
          step->work_folder().string()
      );
      throw;
    }
  });
}

}  // namespace hone
