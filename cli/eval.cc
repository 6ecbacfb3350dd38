#include "cli/eval.h"

#include <iostream>
#include <memory>

#include "cli/bind.h"
#include "cli/paths.h"
#include "recipes/step/eval.h"

namespace hone {
namespace {

// Without data of one's own: the included sets.
void fill_data(EvalStep& step) {
  const auto fill = [](std::string& path, const char* name) {
    if (path.empty()) path = (demo_folder() / name).string();
  };
  fill(step.math_data, "eval_math.jsonl");
  fill(step.tools_data, "eval_tools.jsonl");
  fill(step.kl_data, "traces.jsonl");
}

}  // namespace

void add_eval(CLI::App& app) {
  auto step = std::make_shared<EvalStep>();
  step->output = "report";
  CLI::App* command =
      app.add_subcommand("eval", "Does the candidate still equal its reference? With statistics");
  bind_step(*command, *step);
  command->footer(examples(
      {"hone eval out --reference MODEL -o report",
       "hone eval out --reference MODEL --tasks gsm8k --math-data test.jsonl --margin 2"}
  ));
  command->callback([step] {
    fill_data(*step);
    run_bound_step(*step, [&](const StepOutcome& outcome) {
      std::cout << outcome.summary.at("text").get<std::string>() << "\nreport: " << step->output
                << "/report.html\n";
    });
  });
}

}  // namespace hone
