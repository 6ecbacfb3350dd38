#include "cli/fit.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "cli/bind.h"
#include "cli/paths.h"
#include "core/base/error.h"
#include "quant/fit/report.h"

namespace hone {
namespace fs = std::filesystem;
namespace {

constexpr int kDoesNotFit = 3;
constexpr double kGib = 1024.0 * 1024.0 * 1024.0;
constexpr int64_t kDefaultContext = 8192;
constexpr double kMaxGib = 1 << 20;

struct FitArguments {
  std::string model;
  std::string gpu;
  double gpu_memory = 0;
  int64_t gpu_count = 1;
  std::string scheme;
  std::string experts;
  std::string cache = "bf16";
  std::string context;
  int64_t batch = 1;
  int64_t tp = 0;
  int64_t ep = 0;
  bool mtp = false;
  bool ignore_windows = false;
  double reserve_context = 1;
  double reserve_workspace = 1;
  double reserve_communication = 1;
  double reserve_activations = -1;
  std::string step_tokens = "8k";
};

// config.json itself, the folder that has it, or a name in the cache; weights need not be there.
fs::path config_of(const std::string& model) {
  if (fs::is_regular_file(model)) return model;
  if (fs::is_directory(model)) {
    fs::path config = fs::path(model) / "config.json";
    require(fs::exists(config), "{}: no config.json in the folder", model);
    return config;
  }
  return fs::path(resolve_model(model)) / "config.json";
}

// ModelOpt may say only beside config.json how the weights are stored.
Json read_config(const fs::path& path) {
  Json config = read_json_file(path);
  const fs::path beside = path.parent_path() / "hf_quant_config.json";
  if (config.is_object() && !config.contains("quantization_config") && fs::exists(beside)) {
    const Json document = read_json_file(beside);
    const auto quantization = document.find("quantization");
    if (document.is_object() && quantization != document.end())
      config["quantization_config"] = *quantization;
  }
  return config;
}

std::optional<GpuSet> gpus_of(const FitArguments& a) {
  if (a.gpu_memory > 0) {
    require(a.gpu.empty(), "give either --gpu or --gpu-memory");
    require(
        a.gpu_count >= 1 && a.gpu_count <= 4096, "--gpus is {}, expected 1 to 4096", a.gpu_count
    );
    return GpuSet{{"custom", "GPU", parse_gib(a.gpu_memory, "--gpu-memory") >> 20}, a.gpu_count};
  }
  if (a.gpu.empty()) return std::nullopt;
  return parse_gpus(a.gpu);
}

FitRequest request_of(const FitArguments& a) {
  FitRequest r;
  r.gpus = gpus_of(a);
  const fs::path config = config_of(a.model);
  r.name = a.model;
  r.dimensions = ModelDimensions::parse(read_config(config), config.string());
  r.scheme = a.scheme;
  r.expert_scheme = a.experts;
  require(
      a.cache == "bf16" || a.cache == "fp8", "--cache is \"{}\", expected bf16 or fp8", a.cache
  );
  r.fp8_cache = a.cache == "fp8";
  const int64_t limit = r.dimensions.max_positions;
  r.context = !a.context.empty() ? parse_tokens(a.context, "--context")
              : limit > 0        ? std::min(kDefaultContext, limit)
                                 : kDefaultContext;
  r.batch = a.batch;
  r.tp = a.tp;
  r.ep = a.ep;
  r.mtp = a.mtp;
  r.ignore_windows = a.ignore_windows;
  r.reserves.context = parse_gib(a.reserve_context, "--reserve-context");
  r.reserves.workspace = parse_gib(a.reserve_workspace, "--reserve-workspace");
  r.reserves.communication = parse_gib(a.reserve_communication, "--reserve-communication");
  if (a.reserve_activations >= 0)
    r.reserves.activations = parse_gib(a.reserve_activations, "--reserve-activations");
  r.reserves.step_tokens = parse_tokens(a.step_tokens, "--step-tokens");
  return r;
}

void run(const FitArguments& arguments) {
  const FitReport report = fit(request_of(arguments));
  std::cout << (global_options().json ? fit_json(report).dump(2) + "\n" : fit_text(report));
  exit_code() = report.verdict && !report.verdict->fits ? kDoesNotFit : 0;
}

void add_reserves(CLI::App& command, FitArguments& a) {
  const char* group = "Reserves on each GPU, in GiB";
  command
      .add_option("--reserve-context", a.reserve_context, "Driver, CUDA context, loaded kernels")
      ->group(group)
      ->capture_default_str();
  command.add_option("--reserve-workspace", a.reserve_workspace, "Workspaces and captured graphs")
      ->group(group)
      ->capture_default_str();
  command
      .add_option(
          "--reserve-communication",
          a.reserve_communication,
          "NCCL buffers and all-reduce windows, with more than one GPU"
      )
      ->group(group)
      ->capture_default_str();
  command
      .add_option(
          "--reserve-activations",
          a.reserve_activations,
          "Largest live activations (default: computed from --step-tokens)"
      )
      ->group(group);
  command.add_option("--step-tokens", a.step_tokens, "Tokens that one step of prefill works on")
      ->group(group)
      ->capture_default_str();
}

}  // namespace

int64_t parse_tokens(std::string_view text, std::string_view option) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  const std::string_view unit(at, static_cast<size_t>(end - at));
  const bool thousands = unit == "k" || unit == "K";
  const bool millions = unit == "m" || unit == "M";
  require(
      error == std::errc() && (unit.empty() || thousands || millions) && value >= 1 &&
          value <= int64_t{1} << 30,
      "{} is \"{}\", expected a number of tokens such as 32768 or 32k",
      option,
      text
  );
  return value * (thousands ? 1024 : 1) * (millions ? 1024 * 1024 : 1);
}

int64_t parse_gib(double gib, std::string_view option) {
  require(
      std::isfinite(gib) && gib >= 0 && gib <= kMaxGib,
      "{} is {} GiB, expected 0 to {}",
      option,
      gib,
      kMaxGib
  );
  return static_cast<int64_t>(std::llround(gib * kGib));
}

void add_fit(CLI::App& app) {
  auto arguments = std::make_shared<FitArguments>();
  FitArguments& a = *arguments;
  CLI::App* command = app.add_subcommand(
      "fit", "Say from config.json alone what a model takes and whether it fits on some GPUs"
  );
  command
      ->add_option("MODEL", a.model, "config.json, a folder with one, or a name in the hub cache")
      ->required();
  command->add_option("--gpu", a.gpu, "GPUs: h100x8, 8xh200, b300, ... (none: no verdict)");
  command->add_option(
      "--gpu-memory", a.gpu_memory, "Memory of a GPU that --gpu does not know, GiB"
  );
  command->add_option("--gpus", a.gpu_count, "How many of those")->capture_default_str();
  command->add_option(
      "--scheme", a.scheme, "Weights: " + weight_format_names() + " (default: as config.json says)"
  );
  command->add_option("--experts", a.experts, "Weights of routed experts (default: --scheme)");
  command->add_option("--cache", a.cache, "Keys and values: bf16 or fp8")->capture_default_str();
  command->add_option(
      "--context",
      a.context,
      "Tokens of each sequence: 32768, 32k (default: 8k, or the model's limit)"
  );
  command->add_option("--batch", a.batch, "Sequences at once")->capture_default_str();
  command->add_option(
      "--tp", a.tp, "Tensor parallel size (default: all GPUs that divide the heads)"
  );
  command->add_option("--ep", a.ep, "Expert parallel size (default: experts are split, not dealt)");
  command->add_flag("--mtp", a.mtp, "Load the prediction layers too");
  command->add_flag(
      "--ignore-windows", a.ignore_windows, "For engines that cache every token of windowed layers"
  );
  add_reserves(*command, a);
  command->footer(examples(
      {"hone fit deepseek-ai/DeepSeek-V3 --gpu h100x8 --context 32k --batch 16",
       "hone fit ./config.json --gpu b300x8 --scheme nvfp4 --cache fp8 --json"}
  ));
  command->callback([arguments] { run(*arguments); });
}

}  // namespace hone
