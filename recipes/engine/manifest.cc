#include "recipes/engine/manifest.h"

#include <algorithm>
#include <map>
#include <vector>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/threads.h"

namespace hone {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kManifestName = "hone.json";

bool counts(const fs::path& relative) {
  const std::string name = relative.filename().string();
  return name != kManifestName && name != "hone.run.json" && name != "README.md";
}

// (relative name, sha256) of every file of a folder, sorted by name. Files are hashed in parallel:
// for a checkpoint of several shards this is most of what a manifest costs.
std::map<std::string, std::string> hash_files(const fs::path& folder) {
  std::vector<fs::path> names;
  const auto options = fs::directory_options::follow_directory_symlink;
  for (const auto& entry : fs::recursive_directory_iterator(folder, options)) {
    if (!entry.is_regular_file()) continue;
    const fs::path relative = entry.path().lexically_relative(folder);
    if (counts(relative)) names.push_back(relative);
  }
  std::vector<std::string> hashes(names.size());
  ThreadPool::global().parallel_for(std::ssize(names), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) hashes[i] = sha256_file(folder / names[i]);
  });
  std::map<std::string, std::string> files;
  for (size_t i = 0; i < names.size(); ++i) files[names[i].generic_string()] = hashes[i];
  return files;
}

fs::path manifest_path(const fs::path& output) {
  return fs::is_directory(output) ? output / kManifestName
                                  : fs::path(output.string() + "." + std::string(kManifestName));
}

std::string key_of(const Step& step, const Json& options, const Json& inputs) {
  Json key = Json::object();
  key["hone"] = kHoneVersion;
  key["step"] = step.kind();
  key["options"] = options;
  key["inputs"] = inputs;
  return sha256(dump_json(key));
}

Json input_hashes(Step& step) {
  Json inputs = Json::object();
  for (const NamedPath& input : input_paths(step)) inputs[input.name] = hash_path(input.path);
  return inputs;
}

}  // namespace

std::string hash_path(const fs::path& path) {
  require_data(fs::exists(path), "{}: no such file or folder", path.string());
  if (!fs::is_directory(path)) return sha256_file(path);
  Sha256 sum;
  for (const auto& [name, hash] : hash_files(path)) sum.update(name).update("\n").update(hash);
  return sum.hex();
}

std::string cache_key(Step& step) {
  return key_of(step, option_values(step), input_hashes(step));
}

void write_manifest(Step& step, const fs::path& staged, const StepOutcome& outcome) {
  const Json options = option_values(step);
  const Json inputs = input_hashes(step);
  Json manifest = Json::object();
  manifest["hone"] = kHoneVersion;
  manifest["step"] = step.kind();
  manifest["key"] = key_of(step, options, inputs);
  manifest["options"] = options;
  manifest["inputs"] = inputs;
  Json outputs = Json::object();
  if (fs::is_directory(staged)) {
    for (const auto& [name, hash] : hash_files(staged)) outputs[name] = hash;
  } else {
    outputs[staged.filename().string()] = sha256_file(staged);
  }
  manifest["outputs"] = outputs;
  manifest["summary"] = outcome.summary;
  manifest["exit_code"] = outcome.exit_code;
  write_json_file(manifest_path(staged), manifest);
}

bool is_finished(Step& step, const std::string& key, StepOutcome& outcome) {
  const fs::path output = output_path(step);
  if (output.empty() || !fs::exists(output) || !fs::exists(manifest_path(output))) return false;
  const std::string source = manifest_path(output).string();
  const Json manifest = read_json_file(source);
  if (json_string_or(manifest, "key", "", source) != key) return false;
  const auto recorded = manifest.find("outputs");
  if (recorded == manifest.end() || !recorded->is_object()) return false;
  std::map<std::string, std::string> found;
  if (fs::is_directory(output)) {
    found = hash_files(output);
  } else {
    found[output.filename().string()] = sha256_file(output);
  }
  // An output that somebody edited is made anew rather than trusted.
  if (found.size() != recorded->size()) return false;
  for (const auto& [name, hash] : recorded->items()) {
    auto it = found.find(name);
    if (it == found.end() || !hash.is_string() || it->second != hash.get<std::string>()) {
      return false;
    }
  }
  outcome.summary = manifest.value("summary", Json::object());
  outcome.exit_code = static_cast<int>(json_int_or(manifest, "exit_code", 0, source));
  return true;
}

}  // namespace hone
