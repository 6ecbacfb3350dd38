#include "cli/check.h"

#include <filesystem>
#include <iostream>
#include <memory>
#include <string>

#include "cli/bind.h"
#include "cli/paths.h"
#include "core/base/error.h"
#include "quant/check.h"

namespace hone {
namespace {

constexpr int kFoundFaults = 3;

struct CheckArguments {
  std::string model;
  std::string engines = "all";
  bool list = false;
  CheckOptions options;
};

// A folder without config.json is checked too: saying what is wrong is the point.
std::string folder_of(const std::string& model) {
  return std::filesystem::is_directory(model) ? model : resolve_model(model);
}

// The table of docs/check.md.
void print_list() {
  std::cout << "| Id | Level | Engines | What is wrong | Needs | What to do |\n"
               "| --- | --- | --- | --- | --- | --- |\n";
  for (const CheckDescription& check : check_descriptions()) {
    std::cout << fmt::format(
        "| {} | {} | {} | {} | {} | {} |\n",
        check.id,
        check.level == CheckLevel::kFault ? "fault" : "warning",
        check.engines == kNoEngine ? "all" : engines_text(check.engines),
        check.title,
        check.needs,
        check.fix
    );
  }
}

void run(CheckArguments& arguments) {
  if (arguments.list) {
    print_list();
    return;
  }
  require(!arguments.model.empty(), "name a checkpoint folder, or --list");
  arguments.options.engines = parse_engines(arguments.engines);
  const CheckReport report = check_checkpoint(folder_of(arguments.model), arguments.options);
  std::cout << (global_options().json ? check_json(report).dump(2) + "\n" : check_text(report));
  exit_code() = report.has_faults() ? kFoundFaults : 0;
}

}  // namespace

void add_check(CLI::App& app) {
  auto arguments = std::make_shared<CheckArguments>();
  CLI::App* command = app.add_subcommand(
      "check", "Check whether serving engines would load a checkpoint, and load it right"
  );
  command->add_option(
      "MODEL", arguments->model, "Checkpoint folder, or a name in the Hugging Face cache"
  );
  command->add_option("--for", arguments->engines, "Engine: vllm, sglang, trtllm or all")
      ->capture_default_str();
  command->add_option("--tp", arguments->options.tensor_parallel, "Tensor parallel size")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  command->add_flag("--scales", arguments->options.scales, "Read the block scales too");
  command->add_flag("--deep", arguments->options.deep, "Read every byte: scales, codes, weights");
  command->add_flag("--list", arguments->list, "Print the table of checks");
  command->footer(examples(
      {"hone check ./out --for vllm --tp 8", "hone check deepseek-ai/DeepSeek-V3 --deep --json"}
  ));
  command->callback([arguments] { run(*arguments); });
}

}  // namespace hone
