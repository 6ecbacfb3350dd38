#include "cli/quantize.h"

#include <filesystem>
#include <iostream>
#include <memory>

#include "cli/bind.h"
#include "cli/paths.h"
#include "core/base/progress.h"
#include "recipes/engine/manifest.h"
#include "recipes/step/quantize.h"

namespace hone {
namespace {

struct QuantizeArguments {
  QuantizeStep step;
  bool dry_run = false;
  bool full = false;
};

void print_outcome(const QuantizeStep& step, const StepOutcome& outcome) {
  const Json& s = outcome.summary;
  std::cout << fmt::format(
      "\nwrote {}: {} modules quantized, {}, {:.3f} bits per weight over the whole file\n"
      "next: hone eval {} --reference {}\n",
      step.output,
      s.at("quantized_modules").get<int64_t>(),
      format_bytes(s.at("output_bytes").get<double>()),
      s.at("file_bits").get<double>(),
      step.output,
      step.model
  );
}

// The output exists already, made of the same inputs with the same options.
bool print_if_finished(QuantizeStep& step) {
  StepOutcome outcome;
  if (!std::filesystem::exists(step.output)) return false;
  if (!is_finished(step, cache_key(step), outcome)) return false;
  if (global_options().json) {
    std::cout << outcome.summary.dump(2) << '\n';
  } else {
    std::cout << step.output << " is finished already: same inputs, same options\n";
  }
  return true;
}

void run(QuantizeArguments& arguments) {
  QuantizeStep& step = arguments.step;
  step.model = resolve_model(step.model);
  step.preset = resolve_input("preset", step.preset);
  const bool json = global_options().json;
  if (arguments.dry_run) {
    const Plan plan = step.plan();
    std::cout << (json ? plan_json(plan).dump(2) + "\n" : plan_table(plan, arguments.full));
    return;
  }
  if (print_if_finished(step)) return;
  if (!json && !global_options().quiet) std::cout << plan_table(step.plan(), arguments.full);
  run_bound_step(step, [&step](const StepOutcome& outcome) { print_outcome(step, outcome); });
}

}  // namespace

void add_quantize(CLI::App& app) {
  auto arguments = std::make_shared<QuantizeArguments>();
  CLI::App* command =
      app.add_subcommand("quantize", "Quantize a checkpoint to FP8, NVFP4 or MX formats");
  bind_step(*command, arguments->step);
  command->get_option("--output")->required(false);
  // One rule per flag: "--rule a=keep MODEL" must not take MODEL for a rule.
  command->get_option("--rule")->allow_extra_args(false);
  command->add_flag("--dry-run", arguments->dry_run, "Print the plan and sizes, write nothing");
  command->add_flag("--full", arguments->full, "Print one line per tensor instead of per pattern");
  command->footer(examples(
      {"hone quantize Qwen/Qwen3-8B -o out --scheme fp8-block",
       "hone quantize MODEL -o out --scheme nvfp4 --stats calib.h5 --select auto --bits 5.0",
       "hone quantize MODEL --scheme nvfp4a16 --rule 'attn.*=keep' --dry-run",
       "hone quantize MODEL -o out --preset moe-experts --rule 'layer:-1=keep'"}
  ));
  command->callback([arguments] { run(*arguments); });
}

}  // namespace hone
