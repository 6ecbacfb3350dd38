#include "cli/bench.h"

#include <iostream>
#include <memory>

#include "cli/bind.h"
#include "recipes/step/bench_decode.h"

namespace hone {

void add_bench(CLI::App& app) {
  CLI::App* bench = app.add_subcommand("bench", "Measure speed");
  bench->require_subcommand(1);
  auto step = std::make_shared<BenchDecodeStep>();
  CLI::App* command = bench->add_subcommand(
      "decode", "Tokens per second with and without a draft head, and proof of equal text"
  );
  bind_step(*command, *step);
  // Printing is enough; a folder is for recipes.
  command->get_option("--output")->required(false);
  command->footer(examples(
      {"hone bench decode MODEL --draft head --prompts eval_tools.jsonl",
       "hone bench decode MODEL --prompts eval_tools.jsonl --batch 8 --limit 200"}
  ));
  command->callback([step] {
    run_bound_step(*step, [](const StepOutcome& outcome) { std::cout << bench_table(outcome); });
  });
}

}  // namespace hone
