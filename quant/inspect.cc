#include "quant/inspect.h"

#include <algorithm>
#include <optional>

#include "core/base/error.h"
#include "core/base/progress.h"
#include "core/io/checkpoint.h"
#include "core/io/dialect.h"
#include "core/io/part_names.h"
#include "quant/check.h"
#include "quant/check/modules.h"
#include "quant/check/snapshot.h"
#include "quant/source.h"
#include "runtime/model/config.h"

namespace hone {
namespace fs = std::filesystem;
namespace {

class Inspector {
 public:
  Inspector(fs::path folder, const InspectOptions& options)
      : folder_(std::move(folder)), options_(options) {}

  Inspection run() {
    result_.name = folder_.string();
    run_checks();
    read_config();
    measure();
    try {
      checkpoint_ = Checkpoint::open(folder_);
    } catch (const Error& error) {
      fault_once(error.what());
      return std::move(result_);
    }
    describe();
    return std::move(result_);
  }

 private:
  void note(std::string text) { result_.problems.push_back({false, "", std::move(text)}); }
  // What stops a reader has mostly been found already, by a check.
  void fault_once(std::string text) {
    if (!result_.has_faults()) result_.problems.push_back({true, "", std::move(text)});
  }

  void run_checks() {
    const CheckReport report =
        check_checkpoint(folder_, {.engines = kNoEngine, .deep = options_.scan});
    for (const CheckResult& check : report.results) {
      for (const CheckFinding& finding : check.findings) {
        result_.problems.push_back(
            {check.level == CheckLevel::kFault,
             std::string(check.id),
             finding.subject + ": " + finding.text}
        );
      }
      const int64_t more = check.count - std::ssize(check.findings);
      if (more > 0)
        result_.problems.push_back(
            {check.level == CheckLevel::kFault,
             std::string(check.id),
             fmt::format("{} more of the same: {}", more, check.title)}
        );
    }
    result_.scanned = options_.scan;
  }

  void read_config() {
    const fs::path path = folder_ / kConfigFile;
    if (!fs::exists(path)) return;
    try {
      identity_ = ConfigIdentity::parse(read_json_file(path), path.string());
    } catch (const Error& error) {
      fault_once(error.what());
      return;
    }
    result_.architecture = identity_.architecture_name;
    result_.model_type = identity_.model_type;
    result_.layers = identity_.layers;
    const std::vector<std::string> known = known_architectures();
    result_.has_forward_pass = std::ranges::find(known, result_.architecture) != known.end();
  }

  // From the headers that can be read, also where the folder as a whole cannot be opened.
  void measure() {
    const Snapshot snapshot = read_snapshot(folder_);
    for (const SnapshotShard& shard : snapshot.shards) {
      if (!shard.scan->readable()) continue;
      ++result_.files;
      for (const ScannedTensor& tensor : shard.scan->tensors()) {
        const int64_t bytes = static_cast<int64_t>(tensor.end - tensor.begin);
        ++result_.tensors;
        result_.bytes += bytes;
        result_.dtypes[std::string(dtype_name(tensor.type))] += bytes;
      }
    }
  }

  void describe() {
    const Dialect* dialect = nullptr;
    std::vector<SourceTensor> tensors;
    try {
      dialect = detect_dialect(*checkpoint_);
      tensors = list_source(*checkpoint_, dialect);
    } catch (const Error& error) {
      fault_once(error.what());
      tensors = list_source(*checkpoint_, nullptr);
    }
    if (dialect != nullptr) result_.dialect = dialect->name();
    const ModelSchema schema(result_.architecture, checkpoint_->names());
    std::map<Role, RoleSummary> roles;
    int64_t idle = 0;  // of the experts that a token is not sent to, and of layers beyond the last
    bool has_head = false;
    for (const SourceTensor& t : tensors) {
      const Role role = schema.role(t.name);
      RoleSummary& summary = roles[role];
      summary.role = role;
      ++summary.tensors;
      summary.parameters += t.shape.numel();
      summary.bytes += t.bytes;
      const std::string format(t.stored ? format_name(*t.stored) : dtype_name(t.dtype));
      summary.formats[format] += t.bytes;
      result_.parameters += t.shape.numel();
      if (t.stored) ++result_.modules[format];
      has_head = has_head || role == Role::kLmHead;
      idle += idle_parameters(schema, t, role);
    }
    for (auto& [role, summary] : roles) result_.roles.push_back(std::move(summary));
    if (identity_.experts > 0 && identity_.experts_per_token > 0)
      result_.active_parameters = result_.parameters - idle;
    result_.tied_head = !has_head;
    if (!result_.architecture.empty() && !result_.has_forward_pass)
      note(fmt::format(
          "hone has no forward pass for {} (it runs {}); quantization works, evaluation does not",
          result_.architecture,
          fmt::join(known_architectures(), ", ")
      ));
  }

  int64_t idle_parameters(const ModelSchema& schema, const SourceTensor& t, Role role) const {
    const std::optional<PartName> part = parse_part(t.name);
    const ModuleInfo* module = part ? schema.find(part->module) : nullptr;
    const bool beyond =
        module != nullptr && identity_.layers > 0 && module->layer >= identity_.layers;
    if (beyond) return t.shape.numel();
    if (!routed_expert(role) || identity_.experts_per_token >= identity_.experts) return 0;
    // Every expert has the same size; all of them together hold a whole number of each.
    return t.shape.numel() - t.shape.numel() * identity_.experts_per_token / identity_.experts;
  }

  fs::path folder_;
  InspectOptions options_;
  Inspection result_;
  ConfigIdentity identity_;
  std::shared_ptr<const Checkpoint> checkpoint_;
};

std::string grouped(int64_t value) {
  std::string digits = std::to_string(value);
  for (auto at = static_cast<int64_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<size_t>(at), ",");
  }
  return digits;
}

std::string quantization_text(const Inspection& i) {
  if (i.dialect.empty()) return "none";
  std::string text = "dialect " + i.dialect;
  for (const auto& [format, count] : i.modules) {
    text += fmt::format(", {} modules {}", count, format);
  }
  return text;
}

std::string dtypes_text(const Inspection& i) {
  std::string text;
  for (const auto& [dtype, bytes] : i.dtypes) {
    text += fmt::format(
        "{}{} {}", text.empty() ? "" : ", ", dtype, format_bytes(static_cast<double>(bytes))
    );
  }
  return text.empty() ? "nothing" : text;
}

std::string formats_text(const RoleSummary& role) {
  std::string text;
  for (const auto& [format, bytes] : role.formats) {
    text += (text.empty() ? "" : ", ") + format;
  }
  return text;
}

}  // namespace

bool Inspection::has_faults() const {
  return std::ranges::any_of(problems, &InspectProblem::fault);
}

Inspection inspect_checkpoint(const fs::path& folder, const InspectOptions& options) {
  require(fs::is_directory(folder), "{}: no such folder", folder.string());
  return Inspector(folder, options).run();
}

std::string inspection_text(const Inspection& i) {
  std::string text = i.name + '\n';
  text += fmt::format(
      "  architecture  {}{}, {} layers{}\n",
      i.architecture.empty() ? "unknown" : i.architecture,
      i.model_type.empty() ? "" : " (" + i.model_type + ")",
      i.layers,
      i.has_forward_pass ? "" : ", no forward pass in hone"
  );
  text += fmt::format(
      "  weights       {} parameters in {} tensors, {} in {} file{}\n",
      grouped(i.parameters),
      i.tensors,
      format_bytes(static_cast<double>(i.bytes)),
      i.files,
      i.files == 1 ? "" : "s"
  );
  if (i.active_parameters > 0)
    text += fmt::format("  active        {} parameters a token\n", grouped(i.active_parameters));
  text += fmt::format("  stored as     {}\n", dtypes_text(i));
  text += fmt::format("  lm_head       {}\n", i.tied_head ? "no tensor of its own" : "separate");
  text += fmt::format("  quantization  {}\n", quantization_text(i));
  if (i.scanned) text += "  scan          every weight was read\n";
  if (!i.roles.empty())
    text += fmt::format(
        "\n{:<12} {:>8} {:>16} {:>11}  {}\n", "role", "tensors", "parameters", "size", "stored as"
    );
  for (const RoleSummary& role : i.roles) {
    text += fmt::format(
        "{:<12} {:>8} {:>16} {:>11}  {}\n",
        role_name(role.role),
        role.tensors,
        grouped(role.parameters),
        format_bytes(static_cast<double>(role.bytes)),
        formats_text(role)
    );
  }
  text += i.problems.empty() ? "\nno problems found\n" : "\nproblems\n";
  for (const InspectProblem& problem : i.problems) {
    text += fmt::format(
        "  {}  {:<5}  {}\n", problem.fault ? "fault" : "note ", problem.id, problem.text
    );
  }
  return text;
}

Json inspection_json(const Inspection& i) {
  Json json = Json::object();
  json["name"] = i.name;
  json["architecture"] = i.architecture;
  json["model_type"] = i.model_type;
  json["has_forward_pass"] = i.has_forward_pass;
  json["layers"] = i.layers;
  json["files"] = i.files;
  json["tensors"] = i.tensors;
  json["parameters"] = i.parameters;
  json["active_parameters"] = i.active_parameters;
  json["bytes"] = i.bytes;
  json["bytes_by_dtype"] = Json::object();
  for (const auto& [dtype, bytes] : i.dtypes) json["bytes_by_dtype"][dtype] = bytes;
  json["tied_head"] = i.tied_head;
  json["dialect"] = i.dialect;
  json["quantized_modules"] = Json::object();
  for (const auto& [format, count] : i.modules) json["quantized_modules"][format] = count;
  json["roles"] = Json::array();
  for (const RoleSummary& role : i.roles) {
    Json formats = Json::object();
    for (const auto& [format, bytes] : role.formats) formats[format] = bytes;
    json["roles"].push_back(
        {{"role", role_name(role.role)},
         {"tensors", role.tensors},
         {"parameters", role.parameters},
         {"bytes", role.bytes},
         {"bytes_by_format", formats}}
    );
  }
  json["scanned"] = i.scanned;
  json["problems"] = Json::array();
  for (const InspectProblem& problem : i.problems) {
    json["problems"].push_back(
        {{"fault", problem.fault}, {"id", problem.id}, {"text", problem.text}}
    );
  }
  return json;
}

}  // namespace hone
