#include "quant/inspect.h"

#include <algorithm>
#include <optional>
#include <set>

#include "core/base/cancel.h"
#include "core/base/error.h"
#include "core/base/progress.h"
#include "core/base/threads.h"
#include "core/io/checkpoint.h"
#include "core/io/dialect.h"
#include "quant/source.h"
#include "runtime/model/config.h"

namespace hone {
namespace fs = std::filesystem;
namespace {

constexpr const char* kConfig = "config.json";
constexpr const char* kIndex = "model.safetensors.index.json";
constexpr int64_t kScanBytes = int64_t{8} << 20;

class Inspector {
 public:
  Inspector(fs::path folder, const InspectOptions& options)
      : folder_(std::move(folder)), options_(options) {}

  Inspection run() {
    result_.name = folder_.string();
    read_config();
    open_shards();
    compare_with_index();
    find_side_files();
    try {
      checkpoint_ = Checkpoint::open(folder_);
    } catch (const Error& error) {
      fault_once(error.what());
      return std::move(result_);
    }
    describe();
    if (options_.scan) scan();
    return std::move(result_);
  }

 private:
  void fault(std::string text) { result_.problems.push_back({true, std::move(text)}); }
  void note(std::string text) { result_.problems.push_back({false, std::move(text)}); }
  // What opening the folder as a whole says has mostly been found already, piece by piece.
  void fault_once(std::string text) {
    if (!result_.has_faults()) fault(std::move(text));
  }

  void read_config() {
    try {
      const std::string source = (folder_ / kConfig).string();
      const Json config = read_json_file(source);
      identity_ = ConfigIdentity::parse(config, source);
    } catch (const Error& error) {
      fault(error.what());
      return;
    }
    result_.architecture = identity_.architecture_name;
    result_.model_type = identity_.model_type;
    result_.layers = identity_.layers;
    const std::vector<std::string> known = known_architectures();
    result_.has_forward_pass = std::ranges::find(known, result_.architecture) != known.end();
  }

  void open_shard(const std::string& name) {
    if (shards_.contains(name)) return;
    try {
      shards_[name] = SafetensorsFile::open(folder_ / name);
    } catch (const Error& error) {
      shards_[name] = nullptr;
      fault(error.what());
    }
  }

  // Every *.safetensors of the folder, and every file that the index names.
  void open_shards() {
    if (fs::exists(folder_ / kIndex)) read_index();
    for (const auto& [tensor, shard] : index_) {
      if (shard.find('/') != std::string::npos || shard.find("..") != std::string::npos) {
        if (refused_.insert(shard).second)
          fault(fmt::format("{}: file name \"{}\" leaves the folder", kIndex, shard));
        continue;
      }
      if (!fs::exists(folder_ / shard)) {
        if (refused_.insert(shard).second)
          fault(fmt::format("{}: the index names it, but it is missing", shard));
        continue;
      }
      open_shard(shard);
    }
    for (const auto& entry : fs::directory_iterator(folder_)) {
      const std::string name = entry.path().filename().string();
      if (!entry.is_regular_file() || entry.path().extension() != ".safetensors") continue;
      if (has_index_ && !shards_.contains(name)) {
        note(fmt::format("{}: not in the index; engines may load it twice or trip over it", name));
        continue;
      }
      open_shard(name);
    }
    if (shards_.empty() && refused_.empty()) fault("no .safetensors file in the folder");
    for (const auto& [name, shard] : shards_) {
      if (shard == nullptr) continue;
      ++result_.files;
      for (const std::string& tensor : shard->names()) {
        result_.bytes += shard->tensor(tensor).nbytes();
        ++result_.tensors;
      }
    }
  }

  void read_index() {
    try {
      const std::string source = (folder_ / kIndex).string();
      const Json index = read_json_file(source);
      const auto map = index.find("weight_map");
      require_data(map != index.end() && map->is_object(), "{}: no object \"weight_map\"", source);
      for (const auto& [tensor, shard] : map->items()) {
        require_data(shard.is_string(), "{}: the file of {} is no string", source, tensor);
        index_.emplace(tensor, shard.get<std::string>());
      }
      const auto metadata = index.find("metadata");
      if (metadata != index.end() && metadata->is_object())
        total_size_ = json_int_or(*metadata, "total_size", -1, source);
      has_index_ = true;
    } catch (const Error& error) {
      fault(error.what());
    }
  }

  void compare_with_index() {
    if (!has_index_) return;
    for (const auto& [tensor, name] : index_) {
      const auto shard = shards_.find(name);
      if (shard == shards_.end() || shard->second == nullptr) continue;
      if (!shard->second->contains(tensor))
        fault(fmt::format("{}: the index puts {} there, but it is not in the file", name, tensor));
    }
    std::map<std::string, std::string> seen;
    for (const auto& [name, shard] : shards_) {
      if (shard == nullptr) continue;
      for (const std::string& tensor : shard->names()) {
        const auto [other, fresh] = seen.emplace(tensor, name);
        if (!fresh) fault(fmt::format("{} is in {} and in {}", tensor, other->second, name));
        if (!index_.contains(tensor))
          fault(fmt::format("{}: {} is in the file, but not in the index", name, tensor));
      }
    }
    if (total_size_ >= 0 && total_size_ != result_.bytes)
      note(fmt::format(
          "{}: total_size is {}, the tensors take {} bytes", kIndex, total_size_, result_.bytes
      ));
  }

  void find_side_files() {
    if (!fs::exists(folder_ / "tokenizer.json") && !fs::exists(folder_ / "tokenizer.model"))
      note("no tokenizer.json: the weights can be quantized, but the model cannot be run");
  }

  void describe() {
    const Dialect* dialect = nullptr;
    std::vector<SourceTensor> tensors;
    try {
      dialect = detect_dialect(*checkpoint_);
      tensors = list_source(*checkpoint_, dialect);
    } catch (const Error& error) {
      fault(error.what());
      tensors = list_source(*checkpoint_, nullptr);
    }
    if (dialect != nullptr) result_.dialect = dialect->name();
    const ModelSchema schema(result_.architecture, checkpoint_->names());
    std::map<Role, RoleSummary> roles;
    std::set<int64_t> layers;
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
    }
    for (const ModuleInfo& module : schema.modules()) {
      if (module.layer >= 0) layers.insert(module.layer);
    }
    for (auto& [role, summary] : roles) result_.roles.push_back(std::move(summary));
    judge_head(has_head);
    judge_layers(layers);
    if (!result_.architecture.empty() && !result_.has_forward_pass)
      note(fmt::format(
          "hone has no forward pass for {} (it runs {}); quantization works, evaluation does not",
          result_.architecture,
          fmt::join(known_architectures(), ", ")
      ));
  }

  void judge_head(bool has_head) {
    result_.tied_head = !has_head;
    if (has_head && identity_.tied_embeddings)
      note("tie_word_embeddings is true, and there is an lm_head tensor: engines ignore it");
    if (!has_head && !identity_.tied_embeddings)
      note(
          "there is no lm_head tensor and config.json does not say that it is tied: some engines "
          "will miss it"
      );
  }

  void judge_layers(const std::set<int64_t>& layers) {
    for (int64_t i = 0; i < identity_.layers; ++i) {
      if (layers.contains(i)) continue;
      fault(fmt::format(
          "config.json speaks of {} layers, but layer {} has no weights", identity_.layers, i
      ));
      return;
    }
    if (identity_.layers > 0 && !layers.empty() && *layers.rbegin() >= identity_.layers)
      note(fmt::format(
          "weights of layer {} although config.json speaks of {} layers (multi-token prediction?)",
          *layers.rbegin(),
          identity_.layers
      ));
  }

  void scan() {
    Progress progress("scan", result_.bytes, "B");
    for (const std::string& name : checkpoint_->names()) {
      const TensorView view = checkpoint_->tensor(name);
      try {
        scan_tensor(name, view);
      } catch (const DataError& error) {
        fault(error.what());
      }
      checkpoint_->drop(name);
      progress.advance(view.nbytes());
    }
    result_.scanned = true;
  }

  void scan_tensor(const std::string& name, const TensorView& view) {
    if (view.numel() == 0) return;
    if (view.type == DType::kF8E4M3) {
      const auto bytes = view.bytes();
      const auto nan = std::ranges::find_if(bytes, [](std::byte b) {
        return (b & std::byte{0x7F}) == std::byte{0x7F};
      });
      require_data(
          nan == bytes.end(), "tensor {} holds NaN at element {}", name, nan - bytes.begin()
      );
      return;
    }
    if (view.type != DType::kF32 && view.type != DType::kBF16 && view.type != DType::kF16) return;
    WeightRows rows(*checkpoint_, name);
    ThreadPool& pool = ThreadPool::global();
    const int64_t step = rows.slab_rows(kScanBytes);
    for (int64_t row = 0; row < rows.rows(); row += step) {
      throw_if_cancelled();
      const int64_t n = std::min(step, rows.rows() - row);
      const AmaxResult result = slab_amax(rows.slab(row, n, pool), pool);
      if (result.bad) rows.refuse(*result.bad);
      rows.drop(row, n);
    }
  }

  fs::path folder_;
  InspectOptions options_;
  Inspection result_;
  ConfigIdentity identity_;
  std::map<std::string, std::string> index_;  // tensor -> shard
  std::map<std::string, std::shared_ptr<const SafetensorsFile>> shards_;
  std::set<std::string> refused_;
  bool has_index_ = false;
  int64_t total_size_ = -1;
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
    text += fmt::format("  {}  {}\n", problem.fault ? "fault" : "note ", problem.text);
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
  json["bytes"] = i.bytes;
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
    json["problems"].push_back({{"fault", problem.fault}, {"text", problem.text}});
  }
  return json;
}

}  // namespace hone
