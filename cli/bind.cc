#include "cli/bind.h"

#include <iostream>

#include "cli/paths.h"

namespace hone {
namespace {

class Binder : public FieldVisitor {
 public:
  explicit Binder(CLI::App& command) : command_(command) {}

  void input(std::string_view name, std::string& path, std::string_view help) override {
    if (!has_positional_) {
      has_positional_ = true;
      command_.add_option("MODEL", path, std::string(help))->required(path.empty());
      return;
    }
    add(name, path, help);
  }
  void output(std::string_view name, std::string& path, std::string_view help) override {
    command_.add_option("-o,--" + std::string(name), path, std::string(help))
        ->required(path.empty());
  }
  void option(std::string_view name, std::string& value, std::string_view help) override {
    add(name, value, help);
  }
  void option(std::string_view name, int64_t& value, std::string_view help) override {
    add(name, value, help);
  }
  void option(std::string_view name, double& value, std::string_view help) override {
    add(name, value, help);
  }
  void option(std::string_view name, bool& value, std::string_view help) override {
    command_.add_flag(
        "--" + std::string(name) + ",!--no-" + std::string(name), value, std::string(help)
    );
  }
  void option(std::string_view name, std::vector<std::string>& value, std::string_view help)
      override {
    command_.add_option("--" + std::string(name), value, std::string(help))
        ->delimiter(',')
        ->capture_default_str();
  }

 private:
  template <typename T>
  void add(std::string_view name, T& value, std::string_view help) {
    command_.add_option("--" + std::string(name), value, std::string(help))->capture_default_str();
  }

  CLI::App& command_;
  bool has_positional_ = false;
};

}  // namespace

void bind_step(CLI::App& command, Step& step) {
  Binder binder(command);
  step.visit(binder);
}

GlobalOptions& global_options() {
  static GlobalOptions options;
  return options;
}

int& exit_code() {
  static int code = 0;
  return code;
}

void run_bound_step(Step& step, const std::function<void(const StepOutcome&)>& print) {
  map_inputs(step, resolve_input);
  const StepOutcome outcome = step.run();
  if (global_options().json) {
    std::cout << outcome.summary.dump(2) << '\n';
  } else if (print) {
    print(outcome);
  }
  exit_code() = outcome.exit_code;
}

std::string examples(std::initializer_list<const char*> lines) {
  std::string text = "Examples:\n";
  for (const char* line : lines) text += std::string("  ") + line + "\n";
  return text;
}

}  // namespace hone
