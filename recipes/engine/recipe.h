// Recipes: a YAML list of steps run in order, resumable by content hashes.
//
//   name: demo
//   output: out/demo            # folder of all outputs; steps write below it
//   vars: {model: "${demo}"}   # "${model}" in any value; --set model=... replaces it
//   steps:
//     - id: fp8
//       step: quantize
//       with: {model: "${model}", output: fp8, scheme: fp8-block}
//       gate: false             # true: a verdict of this step stops the recipe
//
// "${id}" in a value is the output path of an earlier step.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/json/json.h"
#include "recipes/engine/step.h"

namespace hone {

// Makes the step object of a kind; throws UsageError listing the known kinds. Given by
// recipes/step, so that the engine knows no step.
using StepFactory = std::function<std::unique_ptr<Step>(std::string_view kind)>;

struct RecipeStep {
  std::string id;
  std::string kind;
  Json with = Json::object();  // variables and step references replaced
  bool gate = false;
};

// A parsed recipe; all references are resolved.
struct Recipe {
  std::string name;
  std::filesystem::path output;
  std::vector<RecipeStep> steps;

  // `sets` are "key=value" of --set: a variable's name, "output", or "<step id>.<option>".
  // `builtins` are further variables ("demo": the included model's folder). Throws UsageError
  // "<path>:<line>: ..." for unknown keys, duplicate ids and unknown references.
  static Recipe load(
      const std::filesystem::path& path,
      const std::vector<std::string>& sets,
      const std::map<std::string, std::string>& builtins = {}
  );
};

struct RecipeRunOptions {
  std::string from;  // run this step and all after it anew, whatever is cached
  std::string only;  // run only this step
  bool dry_run = false;
  // Turns an input as written into a path (hub names into folders); null: as written.
  std::function<std::string(std::string_view name, const std::string& path)> resolve;
};

// One line of the closing summary.
struct StepRecord {
  std::string id;
  std::string kind;
  std::string output;
  bool skipped = false;  // found finished
  double seconds = 0;
  StepOutcome outcome;
};

// Runs the steps in order. A finished step (manifest.h) is skipped; a step that throws ends the
// run, and a later run resumes there. Times go to <output>/hone.run.json. The result's exit code is
// the worst of the gates' verdicts (0 when none is gated).
struct RecipeResult {
  std::vector<StepRecord> records;
  int exit_code = 0;
};
RecipeResult run_recipe(
    const Recipe& recipe, const StepFactory& factory, const RecipeRunOptions& options
);

}  // namespace hone
