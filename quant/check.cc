#include "quant/check.h"

#include <algorithm>

#include "core/base/cancel.h"
#include "core/base/error.h"
#include "core/base/progress.h"
#include "quant/check/check_table.h"

namespace hone {
namespace {

struct EngineName {
  Engines engine;
  std::string_view name;
  std::string_view other;
};

constexpr EngineName kEngines[] = {
    {kVllm, "vllm", "vllm"},
    {kSglang, "sglang", "sglang"},
    {kTensorrtLlm, "trtllm", "tensorrt-llm"},
};

constexpr std::string_view kNeedsScales = "--scales";
constexpr std::string_view kNeedsCodes = "--deep";

ConfigIdentity identity_of(const Snapshot& snapshot) {
  if (!snapshot.config.document) return {};
  try {
    return ConfigIdentity::parse(*snapshot.config.document, kConfigFile);
  } catch (const Error&) {
    return {};  // HQ201 says so
  }
}

bool wanted(const Check& check, const CheckOptions& options) {
  if (check.engines != kNoEngine && (check.engines & options.engines) == 0) return false;
  if (check.needs == CheckNeeds::kCodes) return options.deep;
  return check.needs == CheckNeeds::kNothing || options.scales || options.deep;
}

std::string_view level_name(CheckLevel level) {
  return level == CheckLevel::kFault ? "fault" : "warning";
}

std::string what_was_read(const CheckOptions& options) {
  if (options.deep) return "every byte";
  return options.scales ? "headers, scalars and block scales" : "headers and scalars";
}

std::string counted(int64_t n, std::string_view what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

}  // namespace

Engines parse_engines(std::string_view name) {
  if (name == "all") return kAllEngines;
  for (const EngineName& engine : kEngines) {
    if (name == engine.name || name == engine.other) return engine.engine;
  }
  throw UsageError(fmt::format("unknown engine \"{}\"; known: vllm, sglang, trtllm, all", name));
}

std::string engines_text(Engines engines) {
  std::string text;
  for (const EngineName& engine : kEngines) {
    if ((engines & engine.engine) == 0) continue;
    text += (text.empty() ? "" : ", ") + std::string(engine.name);
  }
  return text;
}

bool CheckReport::has_faults() const {
  return faults() > 0;
}

int64_t CheckReport::faults() const {
  return std::ranges::count(results, CheckLevel::kFault, &CheckResult::level);
}

int64_t CheckReport::warnings() const {
  return std::ranges::count(results, CheckLevel::kWarning, &CheckResult::level);
}

void Findings::add(std::string subject, std::string text) {
  if (static_cast<size_t>(count_++) < kKept) kept_.push_back({std::move(subject), std::move(text)});
}

bool is_language_model(const CheckContext& context) {
  const std::string& name = context.identity.architecture_name;
  return name.ends_with("ForCausalLM") || name.ends_with("ForConditionalGeneration");
}

std::vector<Check> all_checks() {
  std::vector<Check> checks;
  for (const std::span<const Check> theme :
       {file_checks(),
        config_checks(),
        group_checks(),
        part_checks(),
        layer_checks(),
        value_checks(),
        engine_checks(),
        parallel_checks()}) {
    checks.insert(checks.end(), theme.begin(), theme.end());
  }
  return checks;
}

std::vector<CheckDescription> check_descriptions() {
  std::vector<CheckDescription> descriptions;
  for (const Check& check : all_checks()) {
    const std::string_view needs = check.needs == CheckNeeds::kNothing  ? ""
                                   : check.needs == CheckNeeds::kScales ? kNeedsScales
                                                                        : kNeedsCodes;
    descriptions.push_back({check.id, check.level, check.engines, needs, check.title, check.fix});
  }
  return descriptions;
}

CheckReport check_checkpoint(const std::filesystem::path& folder, const CheckOptions& options) {
  require(
      options.tensor_parallel >= 1,
      "the tensor parallel size is {}, expected at least 1",
      options.tensor_parallel
  );
  const Snapshot snapshot = read_snapshot(folder);
  const Declaration declared(snapshot);
  const ConfigIdentity identity = identity_of(snapshot);
  const ModuleTable modules(snapshot, declared, identity.architecture_name);
  const Contents contents =
      read_contents(snapshot, modules, {options.scales || options.deep, options.deep});
  const CheckContext context{snapshot, declared, modules, identity, contents, options};
  CheckReport report;
  report.name = folder.string();
  report.options = options;
  report.tensors = std::ssize(snapshot.names);
  report.bytes = snapshot.tensor_bytes();
  for (const Check& check : all_checks()) {
    if (!wanted(check, options)) continue;
    throw_if_cancelled();
    ++report.checks;
    Findings findings;
    check.run(context, findings);
    if (findings.count() == 0) continue;
    report.results.push_back(
        {check.id,
         check.level,
         check.title,
         check.fix,
         check.engines,
         findings.count(),
         findings.take()}
    );
  }
  std::ranges::stable_sort(report.results, {}, &CheckResult::level);
  return report;
}

std::string check_text(const CheckReport& report) {
  constexpr size_t kShown = 3;
  const std::string engines = engines_text(report.options.engines);
  std::string text = fmt::format(
      "{}: {}, {}\n  {} run{}, tensor parallel {}; {} of {} in {}\n",
      report.name,
      counted(report.faults(), "fault"),
      counted(report.warnings(), "warning"),
      counted(report.checks, "check"),
      engines.empty() ? "" : " for " + engines,
      report.options.tensor_parallel,
      what_was_read(report.options),
      format_bytes(static_cast<double>(report.bytes)),
      counted(report.tensors, "tensor")
  );
  for (const CheckResult& result : report.results) {
    text += fmt::format("\n{:<8} {}  {}\n", level_name(result.level), result.id, result.title);
    const size_t shown = std::min(kShown, result.findings.size());
    for (size_t i = 0; i < shown; ++i) {
      text += fmt::format("    {}: {}\n", result.findings[i].subject, result.findings[i].text);
    }
    if (result.count > static_cast<int64_t>(shown))
      text += fmt::format("    and {} more\n", result.count - static_cast<int64_t>(shown));
    text += fmt::format("    fix: {}\n", result.fix);
  }
  return text;
}

Json check_json(const CheckReport& report) {
  Json json = Json::object();
  json["name"] = report.name;
  json["engines"] = Json::array();
  for (const EngineName& engine : kEngines) {
    if ((report.options.engines & engine.engine) != 0) json["engines"].push_back(engine.name);
  }
  json["tensor_parallel"] = report.options.tensor_parallel;
  json["scales"] = report.options.scales || report.options.deep;
  json["deep"] = report.options.deep;
  json["checks"] = report.checks;
  json["tensors"] = report.tensors;
  json["bytes"] = report.bytes;
  json["faults"] = report.faults();
  json["warnings"] = report.warnings();
  json["results"] = Json::array();
  for (const CheckResult& result : report.results) {
    Json findings = Json::array();
    for (const CheckFinding& finding : result.findings)
      findings.push_back({{"subject", finding.subject}, {"text", finding.text}});
    json["results"].push_back(
        {{"id", result.id},
         {"level", level_name(result.level)},
         {"title", result.title},
         {"fix", result.fix},
         {"count", result.count},
         {"findings", findings}}
    );
  }
  return json;
}

}  // namespace hone
