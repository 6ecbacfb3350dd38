#include <algorithm>
#include <chrono>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/progress.h"
#include "recipes/engine/manifest.h"
#include "recipes/engine/recipe.h"

namespace hone {
namespace fs = std::filesystem;
namespace {

void refuse_unknown_id(const Recipe& recipe, const std::string& flag, const std::string& id) {
  if (id.empty()) return;
  std::vector<std::string> ids;
  for (const RecipeStep& step : recipe.steps) ids.push_back(step.id);
  require(
      std::ranges::find(ids, id) != ids.end(),
      "{} {}: recipe \"{}\" has no such step; its steps are {}",
      flag,
      id,
      recipe.name,
      fmt::join(ids, ", ")
  );
}

// Times and paths of this machine: kept out of the hashed manifests.
void write_run_file(const Recipe& recipe, const RecipeResult& result) {
  Json steps = Json::array();
  for (const StepRecord& record : result.records) {
    steps.push_back(
        {{"id", record.id},
         {"step", record.kind},
         {"output", record.output},
         {"skipped", record.skipped},
         {"seconds", record.seconds},
         {"exit_code", record.outcome.exit_code}}
    );
  }
  write_json_file(
      recipe.output / "hone.run.json",
      {{"recipe", recipe.name}, {"steps", steps}, {"exit_code", result.exit_code}}
  );
}

}  // namespace

RecipeResult run_recipe(
    const Recipe& recipe, const StepFactory& factory, const RecipeRunOptions& options
) {
  refuse_unknown_id(recipe, "--from", options.from);
  refuse_unknown_id(recipe, "--only", options.only);
  // All steps are built before the first one runs, so that a typing error costs no work.
  std::vector<std::unique_ptr<Step>> steps;
  for (const RecipeStep& entry : recipe.steps) {
    steps.push_back(factory(entry.kind));
    set_fields(*steps.back(), entry.with, fmt::format("step \"{}\"", entry.id));
  }
  RecipeResult result;
  if (!options.dry_run) fs::create_directories(recipe.output);
  bool forced = false;
  for (size_t i = 0; i < steps.size(); ++i) {
    const RecipeStep& entry = recipe.steps[i];
    if (!options.only.empty() && entry.id != options.only) continue;
    forced = forced || entry.id == options.from;
    StepRecord record{entry.id, entry.kind, output_path(*steps[i]), false, 0, {}};
    if (options.dry_run) {
      result.records.push_back(record);
      continue;
    }
    const auto start = std::chrono::steady_clock::now();
    // Here, not above: an input may be what an earlier step has just written.
    if (options.resolve) map_inputs(*steps[i], options.resolve);
    const std::string key = cache_key(*steps[i]);
    record.skipped = !forced && is_finished(*steps[i], key, record.outcome);
    if (record.skipped) {
      log_info("[{}/{}] {} is finished: {}", i + 1, steps.size(), entry.id, record.output);
    } else {
      log_info("[{}/{}] {} ({}) -> {}", i + 1, steps.size(), entry.id, entry.kind, record.output);
      record.outcome = steps[i]->run();
    }
    record.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (!record.skipped) log_info("      {} took {}", entry.id, format_duration(record.seconds));
    const int code = record.outcome.exit_code;
    result.records.push_back(std::move(record));
    if (entry.gate && code != 0) {
      result.exit_code = code;
      log_warning("gate \"{}\" ended with exit code {}: the recipe stops here", entry.id, code);
      break;
    }
  }
  if (!options.dry_run) write_run_file(recipe, result);
  return result;
}

}  // namespace hone
