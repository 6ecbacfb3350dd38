#include "recipes/step/quantize.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/progress.h"
#include "core/io/dialect.h"
#include "quant/apply.h"
#include "quant/input_scale.h"
#include "quant/select/planner.h"
#include "quant/source.h"
#include "recipes/engine/manifest.h"
#include "recipes/step/model_card.h"
#include "recipes/step/preset.h"
#include "runtime/model/config.h"

namespace hone {
namespace {

// "30 of 42 linear weights quantized, 4.98 bits a weight (5.00 asked), 10.0 MiB to 4.0 MiB".
std::string plan_line(const Plan& plan) {
  const PlanSize size = plan_size(plan);
  std::string text = fmt::format(
      "{} of {} linear weights quantized, {:.2f} bits a weight",
      size.quantized_modules,
      size.quantized_modules + size.kept_modules,
      size.selectable_bits
  );
  if (plan.budget) text += fmt::format(" ({:.2f} asked)", plan.budget->requested_bits);
  return text + ", " + format_bytes(static_cast<double>(size.source_bytes)) + " to " +
         format_bytes(static_cast<double>(size.output_bytes));
}

}  // namespace

namespace fs = std::filesystem;

// What plan() and run() both look at.
struct QuantizeStep::Inputs {
  std::shared_ptr<const Checkpoint> checkpoint;
  std::optional<CalibrationStats> stats;
  Plan plan;
  std::map<std::string, float> input_scales;
};

void QuantizeStep::visit(FieldVisitor& fields) {
  fields.input("model", model, "Checkpoint folder, or a name in the Hugging Face cache");
  fields.input(
      "stats", stats, "Statistics of hone calibrate (nvfp4, fp8-tensor and --select auto need them)"
  );
  fields.input("preset", preset, "Rules of recipes/library/presets by name, or a YAML file");
  fields.output("output", output, "Folder to write");
  fields.option("scheme", scheme, "How weights are stored: " + scheme_names());
  fields.option(
      "rule", rules, "pattern=format, the last match wins: 'attn.*=keep', '*.layers.0.*=keep'"
  );
  fields.option("select", select, "rules, or auto: choose modules for --bits by measured KL");
  fields.option("bits", bits, "Stored bits per selectable weight, scales included (select auto)");
  fields.option(
      "scale",
      scale,
      "Block scales: amax, mse (searched, weighted by the inputs with --stats) or 4over6 (NVFP4)"
  );
  fields.option("scale-kind", scale_kind, "Block FP8 scales: f32, or ue8m0 (powers of two)");
  fields.option(
      "for", engine, "Write what this engine loads: vllm, sglang, trtllm, or all of them (all)"
  );
  fields.option(
      "dialect",
      dialect,
      "Names on disk: fp8, compressed-tensors or modelopt (default: by scheme and --for)"
  );
  fields.option("max-shard-gb", max_shard_gb, "Largest weight file, in 10^9 bytes");
}

QuantizeStep::Inputs QuantizeStep::open() const {
  require(select == "rules" || select == "auto", "select \"{}\": known are rules and auto", select);
  std::optional<Preset> chosen;
  if (!preset.empty()) chosen = Preset::load(preset);
  const std::string asked = scheme.empty() && chosen ? chosen->scheme : scheme;
  require(
      !asked.empty() || (!rules.empty() && select == "rules"),
      "quantize needs --scheme: {}",
      scheme_names()
  );
  require(select == "rules" || bits > 0, "--select auto needs --bits, for instance --bits 5.0");
  require(select == "auto" || bits == 0, "--bits is the budget of --select auto; add that");
  require(
      std::isfinite(max_shard_gb) && max_shard_gb > 0,
      "max-shard-gb is {}, expected a positive number",
      max_shard_gb
  );
  parse_scale_kind(scale_kind);
  const ScaleChoice choice = parse_scale_choice(scale);

  Inputs inputs;
  inputs.checkpoint = Checkpoint::open(model);
  if (!stats.empty()) inputs.stats = CalibrationStats::load(stats);
  const auto identity = ConfigIdentity::parse(
      inputs.checkpoint->config(), (inputs.checkpoint->folder() / "config.json").string()
  );
  const Dialect* stored = detect_dialect(*inputs.checkpoint);
  PlanRequest request;
  request.architecture = identity.architecture_name;
  request.tied_embeddings = identity.tied_embeddings;
  if (stored != nullptr) request.source_dialect = stored->name();
  request.tensors = list_source(*inputs.checkpoint, stored);
  if (!asked.empty()) request.scheme = &scheme_by_name(asked);
  if (chosen) request.rules = chosen->rules;
  for (const std::string& rule : split_rules(rules)) request.rules.push_back(Rule::parse(rule));
  request.bits = bits;
  if (inputs.stats) request.stats = &*inputs.stats;
  request.engine = engine;
  request.dialect = dialect;
  inputs.plan = make_plan(request);
  for (const PlanEntry& e : inputs.plan.entries) {
    if (e.scheme == nullptr) continue;
    const std::string_view reason = refuses(choice, e.scheme->format);
    require(reason.empty(), "--scale {} with scheme {}: {}", scale, e.scheme->name, reason);
  }
  if (needs_input_scales(inputs.plan)) {
    require(
        inputs.stats.has_value(),
        "this scheme quantizes activations under calibrated input scales: run hone calibrate and "
        "give its file with --stats, or use a scheme without them (nvfp4a16, fp8-dynamic)"
    );
    inputs.input_scales = input_scales(inputs.plan, *inputs.stats, stats);
  }
  return inputs;
}

Plan QuantizeStep::plan() const {
  return open().plan;
}

StepOutcome QuantizeStep::run() {
  require(!output.empty(), "quantize needs an output folder (-o)");
  std::error_code ignored;
  require(!fs::equivalent(model, output, ignored), "the output {} is the model itself", output);
  Inputs inputs = open();
  if (inputs.stats && inputs.stats->model_hash != inputs.checkpoint->content_hash()) {
    inputs.plan.warnings.push_back(
        {"", false, "the statistics were measured on another model or another version of it"}
    );
    log_warning("{}: {}", stats, inputs.plan.warnings.back().text);
  }
  ApplyOptions options;
  options.scale_kind = parse_scale_kind(scale_kind);
  options.input_scales = inputs.input_scales;
  options.scale = parse_scale_choice(scale);
  if (inputs.stats && options.scale != ScaleChoice::kAmax) {
    for (const auto& [module, measured] : inputs.stats->modules) {
      std::vector<float> weights = column_weights(measured.input_mean_square);
      if (!weights.empty()) options.column_weights.emplace(module, std::move(weights));
    }
  }
  options.max_shard_bytes = std::llround(max_shard_gb * 1e9);
  const auto writer = apply_plan(*inputs.checkpoint, inputs.plan, output, options);
  write_card(inputs, *writer);

  StepOutcome outcome;
  outcome.summary = plan_json(inputs.plan);
  outcome.summary.erase("tensors");
  outcome.summary["scheme"] = scheme;
  outcome.summary["line"] = plan_line(inputs.plan);
  write_manifest(*this, writer->staging(), outcome);
  writer->commit();
  return outcome;
}

std::string QuantizeStep::command() const {
  const auto quoted = [](const std::string& text) { return "'" + text + "'"; };
  std::string text = fmt::format("hone quantize {} -o OUT", base_model_name(model));
  if (!scheme.empty()) text += " --scheme " + scheme;
  if (!preset.empty()) text += " --preset " + fs::path(preset).stem().string();
  for (const std::string& rule : split_rules(rules)) text += " --rule " + quoted(rule);
  if (select == "auto") text += fmt::format(" --select auto --bits {}", bits);
  if (scale != "amax") text += " --scale " + scale;
  if (!dialect.empty()) text += " --dialect " + dialect;
  if (!engine.empty() && dialect.empty()) text += " --for " + engine;
  if (scale_kind != "f32") text += " --scale-kind " + scale_kind;
  if (!stats.empty()) text += " --stats " + fs::path(stats).filename().string();
  return text;
}

void QuantizeStep::write_card(const Inputs& inputs, CheckpointWriter& writer) const {
  ModelCard card;
  card.base_model = base_model_name(model);
  const fs::path readme = inputs.checkpoint->folder() / "README.md";
  if (fs::exists(readme)) card.license = license_lines(read_text_file(readme));
  card.scale_kind = scale_kind;
  card.command = command();
  if (inputs.stats) {
    card.calibration_tokens = inputs.stats->tokens;
    card.corpus_hash = inputs.stats->corpus_hash;
  }
  card.plan = &inputs.plan;
  writer.write_text("README.md", model_card_text(card));
}

std::vector<std::string> split_rules(const std::vector<std::string>& values) {
  std::vector<std::string> rules;
  std::string current;
  int depth = 0;
  const auto finish = [&] {
    if (!current.empty()) rules.push_back(std::move(current));
    current.clear();
  };
  for (const std::string& value : values) {
    // Inside a brace the comma was part of the rule.
    if (depth > 0) current += ',';
    for (char c : value) {
      if (c == '{') ++depth;
      if (c == '}') --depth;
      if (c == ',' && depth <= 0) {
        finish();
      } else {
        current += c;
      }
    }
    if (depth <= 0) finish();
  }
  finish();
  return rules;
}

}  // namespace hone
