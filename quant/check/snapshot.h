// A checkpoint folder as it lies there, sound or not: the checks' tolerant counterpart of
// Checkpoint. Reading never throws for what the folder holds; what could not be read is a list.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/io/safetensors_scan.h"
#include "core/json/json.h"

namespace hone {

// A JSON file of the folder.
struct SnapshotDocument {
  bool exists = false;
  std::optional<Json> document;  // an object
  std::string error;             // why there is none although the file exists
};

struct SnapshotShard {
  std::string name;
  std::shared_ptr<const SafetensorsScan> scan;
};

struct SnapshotTensor {
  const SnapshotShard* shard = nullptr;
  const ScannedTensor* entry = nullptr;

  [[nodiscard]] std::span<const std::byte> bytes() const { return shard->scan->bytes(*entry); }
  // The value of a tensor with one F32, BF16 or F16 element; nullopt for all others.
  [[nodiscard]] std::optional<float> scalar() const;
};

struct SnapshotIndex {
  bool exists = false;
  std::string error;                                            // unreadable
  std::vector<std::pair<std::string, std::string>> weight_map;  // tensor, shard
  std::vector<std::string> not_strings;                         // tensors whose shard is no string
  std::optional<int64_t> total_size;
};

// Movable only: tensors point into shards.
struct Snapshot {
  Snapshot() = default;
  Snapshot(Snapshot&&) = default;
  Snapshot& operator=(Snapshot&&) = default;

  std::filesystem::path folder;
  std::vector<std::string> files;  // names in the folder itself, sorted
  std::set<std::string> pointers;  // of them: Git LFS pointers instead of contents
  SnapshotDocument config;         // config.json
  SnapshotDocument quant_file;     // hf_quant_config.json
  SnapshotIndex index;

  // Shards that the index names (without one: model.safetensors, or else whatever lies there), in
  // the order of their names.
  // `unsafe` and `missing` are names of the index that cannot be followed.
  std::vector<SnapshotShard> shards;
  std::set<std::string> unsafe_shards;
  std::set<std::string> missing_shards;

  // Tensor by name; of one that lies in several shards the first. `names` in shard and file order.
  std::unordered_map<std::string, SnapshotTensor> tensors;
  std::vector<std::string> names;
  // (tensor, first shard, other shard)
  struct Twice {
    std::string tensor, first, second;
  };
  std::vector<Twice> twice;
  // Tensors that should be there but whose bytes could not be reached: they lie in a missing or
  // broken shard, or their own entry is broken. Nobody complains a second time that they are gone.
  std::set<std::string> unreachable;
  // Some shard gave no names at all and no index says which it held.
  bool incomplete = false;

  [[nodiscard]] bool has_file(const std::string& name) const;
  [[nodiscard]] const SnapshotTensor* find(const std::string& tensor) const;
  // In a header, or known to be unreachable.
  [[nodiscard]] bool knows(const std::string& tensor) const;
  [[nodiscard]] int64_t tensor_bytes() const;
};

// Throws UsageError when `folder` is no folder, DataError when it cannot be listed.
Snapshot read_snapshot(const std::filesystem::path& folder);

inline constexpr const char* kConfigFile = "config.json";
inline constexpr const char* kQuantFile = "hf_quant_config.json";
inline constexpr const char* kIndexFile = "model.safetensors.index.json";
inline constexpr const char* kSingleFile = "model.safetensors";

}  // namespace hone
