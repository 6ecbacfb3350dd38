// hone: one program, one file per command.
#include <cstdio>
#include <exception>

#include <CLI/CLI.hpp>

#include "cli/bench.h"
#include "cli/bind.h"
#include "cli/calibrate.h"
#include "cli/chat.h"
#include "cli/check.h"
#include "cli/convert.h"
#include "cli/eval.h"
#include "cli/fit.h"
#include "cli/generate.h"
#include "cli/inspect.h"
#include "cli/quantize.h"
#include "cli/run.h"
#include "cli/serve.h"
#include "cli/train.h"
#include "core/base/cancel.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/progress.h"
#include "core/base/threads.h"
#include "core/device/cpu_isa.h"
#include "recipes/engine/manifest.h"

namespace hone {
namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;
constexpr int kInterrupted = 130;

void apply_global_options() {
  const GlobalOptions& options = global_options();
  if (options.threads > 0) ThreadPool::set_threads(options.threads);
  if (options.quiet || options.json) {
    set_progress_mode(ProgressMode::kSilent);
    set_log_level(LogLevel::kWarning);
  }
}

void add_global_options(CLI::App& app) {
  GlobalOptions& options = global_options();
  app.add_flag("--json", options.json, "Print the result as JSON on stdout");
  app.add_flag("-q,--quiet", options.quiet, "No progress and no information messages");
  app.add_option("--threads", options.threads, "Worker threads (default: all cores)")
      ->check(CLI::Range(1, 1024));
  app.set_version_flag("--version", "hone " + std::string(kHoneVersion));
}

void add_commands(CLI::App& app) {
  add_run(app);
  add_inspect(app);
  add_fit(app);
  add_check(app);
  add_quantize(app);
  add_convert(app);
  add_calibrate(app);
  add_train(app);
  add_eval(app);
  add_generate(app);
  add_chat(app);
  add_serve(app);
  add_bench(app);
}

int report(const char* message, int code) {
  std::fprintf(stderr, "hone: %s\n", message);
  return code;
}

int run(int argc, char** argv) {
  CLI::App app{
      "Makes open-weight language models cheap to serve without anyone being able to tell."};
  app.require_subcommand(1);
  app.fallthrough();
  add_global_options(app);
  add_commands(app);
  app.footer(examples(
      {"hone run demo                                   # everything, on the included model",
       "hone quantize MODEL -o out --scheme fp8-block",
       "hone eval out --reference MODEL -o report"}
  ));
  app.parse_complete_callback(apply_global_options);
  try {
    require_avx2();
    install_signal_handlers();
    app.parse(argc, argv);
    return exit_code();
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : kUsage;
  } catch (const Cancelled& e) {
    return report(e.what(), kInterrupted);
  } catch (const UsageError& e) {
    return report(e.what(), kUsage);
  } catch (const std::exception& e) {
    return report(e.what(), kFailed);
  }
}

}  // namespace
}  // namespace hone

int main(int argc, char** argv) {
  return hone::run(argc, argv);
}
