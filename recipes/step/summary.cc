#include "recipes/step/summary.h"

#include <fmt/format.h>

#include "core/base/progress.h"

namespace hone {
namespace {

// A step's figures in one line: its summary's plain numbers and strings.
std::string figures(const Json& summary) {
  auto line = summary.find("line");
  if (line != summary.end() && line->is_string()) return line->get<std::string>();
  std::string text;
  for (const auto& [key, value] : summary.items()) {
    if (value.is_structured()) continue;
    text += fmt::format(
        "{}{} {}",
        text.empty() ? "" : ", ",
        key,
        value.is_number_float() ? fmt::format("{:.4g}", value.get<double>())
        : value.is_string()     ? value.get<std::string>()
                                : value.dump()
    );
  }
  return text;
}

std::string state_of(const StepRecord& record, bool dry_run) {
  if (dry_run) return "planned";
  return record.skipped ? "finished before" : format_duration(record.seconds);
}

// The last checkpoint and head of the recipe, as a command to try.
std::string serve_hint(const RecipeResult& result) {
  std::string model;
  std::string head;
  for (const StepRecord& record : result.records) {
    if (record.kind == "quantize" && model.empty()) model = record.output;
    if (record.kind.starts_with("train-")) head = record.output;
  }
  if (model.empty()) return "";
  return fmt::format(
      "\nServe it:\n  hone serve {}{}\n", model, head.empty() ? "" : " --draft " + head
  );
}

}  // namespace

std::string recipe_summary(const Recipe& recipe, const RecipeResult& result, bool dry_run) {
  std::string text = fmt::format("\nRecipe {} -> {}\n\n", recipe.name, recipe.output.string());
  text += fmt::format("{:<16} {:<14} {:<16} {}\n", "step", "kind", "time", "result");
  for (const StepRecord& record : result.records) {
    text += fmt::format(
        "{:<16} {:<14} {:<16} {}\n",
        record.id,
        record.kind,
        state_of(record, dry_run),
        figures(record.outcome.summary)
    );
  }
  if (dry_run) return text;
  std::string reports;
  for (const StepRecord& record : result.records) {
    if (record.kind == "eval") reports += fmt::format("  {}/report.html\n", record.output);
  }
  if (!reports.empty()) text += "\nReports:\n" + reports;
  return text + serve_hint(result);
}

}  // namespace hone
