#include "cli/inspect.h"

#include <filesystem>
#include <iostream>
#include <memory>
#include <string>

#include "cli/bind.h"
#include "cli/paths.h"
#include "quant/inspect.h"

namespace hone {
namespace {

constexpr int kFoundFaults = 3;

struct InspectArguments {
  std::string model;
  InspectOptions options;
};

// A folder without config.json is inspected too: saying what is wrong is the point.
std::string folder_of(const std::string& model) {
  return std::filesystem::is_directory(model) ? model : resolve_model(model);
}

void run(const InspectArguments& arguments) {
  const Inspection inspection = inspect_checkpoint(folder_of(arguments.model), arguments.options);
  std::cout
      << (global_options().json ? inspection_json(inspection).dump(2) + "\n"
                                : inspection_text(inspection));
  exit_code() = inspection.has_faults() ? kFoundFaults : 0;
}

}  // namespace

void add_inspect(CLI::App& app) {
  auto arguments = std::make_shared<InspectArguments>();
  CLI::App* command = app.add_subcommand(
      "inspect", "Show what is in a checkpoint: architecture, sizes, quantization, problems"
  );
  command
      ->add_option(
          "MODEL", arguments->model, "Checkpoint folder, or a name in the Hugging Face cache"
      )
      ->required();
  command->add_flag("--scan", arguments->options.scan, "Read every weight, look for NaN and Inf");
  command->footer(examples({"hone inspect Qwen/Qwen3-8B", "hone inspect ./out --scan --json"}));
  command->callback([arguments] { run(*arguments); });
}

}  // namespace hone
