#include "cli/run.h"

#include <iostream>
#include <memory>

#include <fmt/core.h>

#include "cli/bind.h"
#include "cli/paths.h"
#include "core/base/cancel.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "recipes/engine/recipe.h"
#include "recipes/step/factory.h"
#include "recipes/step/summary.h"

namespace hone {
namespace {

struct RunArguments {
  std::string recipe;
  std::vector<std::string> sets;
  RecipeRunOptions options;
};

// A path, or the name of a recipe of the library ("demo").
std::filesystem::path find_recipe(const std::string& name) {
  if (std::filesystem::exists(name)) return name;
  auto library = recipe_library() / (name + ".yaml");
  require(
      std::filesystem::exists(library),
      "{}: no such file, and no recipe of that name in {}",
      name,
      recipe_library().string()
  );
  return library;
}

RecipeResult run_interruptible(const Recipe& recipe, const RecipeRunOptions& options) {
  try {
    return run_recipe(recipe, make_step, options);
  } catch (const Cancelled&) {
    log_warning(
        "interrupted; give the same command again to go on (finished steps in {} are not run "
        "again)",
        recipe.output.string()
    );
    throw;
  }
}

void run(const RunArguments& arguments) {
  // The included data is found from anywhere: recipes name it as ${demo}.
  std::vector<std::string> sets = arguments.sets;
  const Recipe recipe =
      Recipe::load(find_recipe(arguments.recipe), sets, {{"demo", demo_folder().string()}});
  RecipeRunOptions options = arguments.options;
  options.resolve = resolve_input;
  const RecipeResult result = run_interruptible(recipe, options);
  if (global_options().json) {
    Json steps = Json::array();
    for (const StepRecord& r : result.records) {
      steps.push_back(
          {{"id", r.id},
           {"output", r.output},
           {"skipped", r.skipped},
           {"exit_code", r.outcome.exit_code},
           {"summary", r.outcome.summary}}
      );
    }
    std::cout << Json{{"recipe", recipe.name}, {"steps", steps}}.dump(2) << '\n';
  } else {
    std::cout << recipe_summary(recipe, result, arguments.options.dry_run);
  }
  exit_code() = result.exit_code;
}

}  // namespace

void add_run(CLI::App& app) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App* command = app.add_subcommand("run", "Run a recipe: steps in order, resumable");
  command->add_option("RECIPE", arguments->recipe, "YAML file, or a name of the recipe library")
      ->required();
  command->add_option("--set", arguments->sets, "Replace a variable or a step's option: key=value");
  command->add_option("--from", arguments->options.from, "Run this step and all after it anew");
  command->add_option("--only", arguments->options.only, "Run only this step");
  command->add_flag("--dry-run", arguments->options.dry_run, "Show the steps and stop");
  command->footer(examples(
      {"hone run demo                      # everything, on the included model",
       "hone run recipe.yaml --set model=~/models/Qwen3-8B --from quantize"}
  ));
  command->callback([arguments] { run(*arguments); });
}

}  // namespace hone
