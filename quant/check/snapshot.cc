#include "quant/check/snapshot.h"

#include <algorithm>
#include <fstream>

#include <simdjson.h>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/format/load.h"

namespace hone {
namespace fs = std::filesystem;
namespace {

constexpr uint64_t kMaxJson = uint64_t{1} << 30;

SnapshotDocument read_document(const fs::path& path) {
  SnapshotDocument result;
  std::error_code ignored;
  result.exists = fs::exists(path, ignored);
  if (!result.exists) return result;
  try {
    Json document = parse_json(read_text_file(path, kMaxJson), path.filename().string());
    if (document.is_object()) {
      result.document = std::move(document);
    } else {
      result.error = "it is no JSON object";
    }
  } catch (const Error& error) {
    result.error = error.what();
  }
  return result;
}

SnapshotIndex read_index(const fs::path& path) {
  SnapshotIndex index;
  std::error_code ignored;
  index.exists = fs::exists(path, ignored);
  if (!index.exists) return index;
  try {
    const std::string text = read_text_file(path, kMaxJson);
    simdjson::dom::parser parser;
    simdjson::dom::element root;
    const auto error = parser.parse(text).get(root);
    require_data(!error, "it is no JSON ({})", simdjson::error_message(error));
    simdjson::dom::object map;
    require_data(!root["weight_map"].get(map), "it has no object \"weight_map\"");
    for (const auto& [tensor, shard] : map) {
      std::string_view name;
      if (shard.get(name)) {
        index.not_strings.emplace_back(tensor);
      } else {
        index.weight_map.emplace_back(tensor, name);
      }
    }
    int64_t total = 0;
    if (!root["metadata"]["total_size"].get(total)) index.total_size = total;
    // Some writers store it as a float.
    double inexact = 0;
    if (!index.total_size && !root["metadata"]["total_size"].get(inexact) && inexact >= 0 &&
        inexact < 0x1p62)
      index.total_size = static_cast<int64_t>(inexact);
  } catch (const DataError& error) {
    index.error = error.what();
  }
  return index;
}

bool leaves_folder(const std::string& name) {
  return name.empty() || name == "." || name.find('/') != std::string::npos ||
         name.find('\\') != std::string::npos || name.find("..") != std::string::npos;
}

// Pointers are a few lines long; what stands in their first one is fixed by their specification.
bool is_pointer(const fs::path& path) {
  constexpr std::string_view kFirstLine = "version https://git-lfs";
  std::error_code error;
  if (!fs::is_regular_file(path, error) || fs::file_size(path, error) > 1024 || error) return false;
  std::ifstream file(path, std::ios::binary);
  std::string text(kFirstLine.size(), '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  return file.good() && text == kFirstLine;
}

void list_files(Snapshot& snapshot) {
  try {
    for (const auto& entry : fs::directory_iterator(snapshot.folder)) {
      std::string name = entry.path().filename().string();
      if (is_pointer(entry.path())) snapshot.pointers.insert(name);
      snapshot.files.push_back(std::move(name));
    }
  } catch (const fs::filesystem_error& error) {
    throw DataError(fmt::format("{}: cannot be listed: {}", snapshot.folder.string(), error.what())
    );
  }
  std::ranges::sort(snapshot.files);
}

// The names of the shards to open; fills the two lists of those that cannot be.
std::set<std::string> shard_names(Snapshot& snapshot) {
  std::set<std::string> names;
  for (const auto& [tensor, shard] : snapshot.index.weight_map) {
    if (leaves_folder(shard)) {
      snapshot.unsafe_shards.insert(shard);
    } else if (!snapshot.has_file(shard)) {
      snapshot.missing_shards.insert(shard);
    } else {
      names.insert(shard);
    }
  }
  if (snapshot.index.exists && snapshot.index.error.empty()) return names;
  if (!snapshot.index.exists && snapshot.has_file(kSingleFile)) return {kSingleFile};
  for (const std::string& file : snapshot.files) {
    if (file.ends_with(".safetensors")) names.insert(file);
  }
  return names;
}

void list_tensors(Snapshot& snapshot) {
  for (const SnapshotShard& shard : snapshot.shards) {
    for (const ScannedTensor& entry : shard.scan->tensors()) {
      const auto [it, fresh] = snapshot.tensors.emplace(entry.name, SnapshotTensor{&shard, &entry});
      if (fresh) {
        snapshot.names.push_back(entry.name);
      } else {
        snapshot.twice.push_back({entry.name, it->second.shard->name, shard.name});
      }
    }
    snapshot.unreachable.insert(shard.scan->broken().begin(), shard.scan->broken().end());
    if (!shard.scan->readable() && !snapshot.index.exists) snapshot.incomplete = true;
  }
  std::set<std::string> readable;
  for (const SnapshotShard& shard : snapshot.shards) {
    if (shard.scan->readable()) readable.insert(shard.name);
  }
  for (const auto& [tensor, shard] : snapshot.index.weight_map) {
    if (!readable.contains(shard)) snapshot.unreachable.insert(tensor);
  }
  if (!snapshot.index.error.empty() || snapshot.shards.empty()) snapshot.incomplete = true;
}

}  // namespace

std::optional<float> SnapshotTensor::scalar() const {
  const DType type = entry->type;
  if (type != DType::kF32 && type != DType::kBF16 && type != DType::kF16) return std::nullopt;
  if (entry->shape.numel() != 1) return std::nullopt;
  float value = 0;
  load_floats(type, bytes().data(), 1, &value);
  return value;
}

bool Snapshot::has_file(const std::string& name) const {
  return std::ranges::binary_search(files, name);
}

const SnapshotTensor* Snapshot::find(const std::string& tensor) const {
  const auto it = tensors.find(tensor);
  return it == tensors.end() ? nullptr : &it->second;
}

bool Snapshot::knows(const std::string& tensor) const {
  return tensors.contains(tensor) || unreachable.contains(tensor);
}

int64_t Snapshot::tensor_bytes() const {
  int64_t total = 0;
  for (const SnapshotShard& shard : shards) {
    for (const ScannedTensor& entry : shard.scan->tensors()) {
      total += static_cast<int64_t>(entry.end - entry.begin);
    }
  }
  return total;
}

Snapshot read_snapshot(const fs::path& folder) {
  require(fs::is_directory(folder), "{}: no such folder", folder.string());
  Snapshot snapshot;
  snapshot.folder = folder;
  list_files(snapshot);
  snapshot.config = read_document(folder / kConfigFile);
  snapshot.quant_file = read_document(folder / kQuantFile);
  snapshot.index = read_index(folder / kIndexFile);
  for (const std::string& name : shard_names(snapshot)) {
    snapshot.shards.push_back(
        {name, std::make_shared<const SafetensorsScan>(SafetensorsScan::open(folder / name))}
    );
  }
  list_tensors(snapshot);
  return snapshot;
}

}  // namespace hone
