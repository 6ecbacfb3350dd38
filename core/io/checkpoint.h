// A Hugging Face checkpoint folder: tensors by name across shards, plus all side files.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <typeindex>
#include <vector>

#include "core/io/safetensors.h"
#include "core/json/json.h"

namespace hone {

// Finds the folder of a model argument: a local folder, or "org/name" in the Hugging Face cache
// (`cache_roots` are searched for models--org--name/snapshots/<revision of refs/main>). Throws
// UsageError saying where it looked.
std::filesystem::path find_checkpoint(
    const std::string& model, const std::vector<std::filesystem::path>& cache_roots
);

// Read side. Immutable; concurrent reads are safe; shards are mapped lazily at open and stay open.
class Checkpoint {
 public:
  // Reads config.json and the index (or the single model.safetensors). Index file names with '/'
  // or "..", missing shards, tensors that the index names but no shard has, and a tensor in two
  // shards are DataErrors.
  static std::shared_ptr<const Checkpoint> open(const std::filesystem::path& folder);

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  // The document of config.json.
  [[nodiscard]] const Json& config() const { return config_; }
  // All tensor names, in shard and file order.
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  [[nodiscard]] bool contains(const std::string& name) const { return where_.contains(name); }
  // Throws DataError naming the folder and the nearest existing name when absent.
  [[nodiscard]] TensorView tensor(const std::string& name) const;
  // The tensor as an owner that keeps its shard mapped.
  [[nodiscard]] Tensor borrow(const std::string& name) const;
  // File name of the shard that holds the tensor.
  [[nodiscard]] const std::string& shard_of(const std::string& name) const;
  // Releases the pages of a tensor, or of bytes [offset, offset + size) of it, that will not be
  // read again soon; prefetch() asks the kernel to read ahead.
  void drop(const std::string& name) const;
  void drop(const std::string& name, int64_t offset, int64_t size) const;
  void prefetch(const std::string& name, int64_t offset, int64_t size) const;
  // Sum of tensor bytes.
  [[nodiscard]] int64_t total_bytes() const;
  // Regular files of the folder that belong to the model but are neither weights nor index
  // (tokenizer, templates, generation and preprocessor configs, ...), sorted. Not among them:
  // config.json, hf_quant_config.json (a dialect's), README.md, our own records, hidden files.
  [[nodiscard]] std::vector<std::string> side_files() const;
  // sha256 over config, side files, hf_quant_config.json and tensor bytes; stable under resharding
  // of equal tensors.
  [[nodiscard]] std::string content_hash() const;
  // What a reader computes from this checkpoint once and uses often (a parsed config): made by the
  // first call for this T, kept with the checkpoint. Safe from several threads; a `make` that
  // throws leaves nothing behind.
  template <typename T>
  [[nodiscard]] const T& derived(const std::function<T(const Checkpoint&)>& make) const {
    return *static_cast<const T*>(derived_value(typeid(T), [&]() -> std::shared_ptr<const void> {
      return std::make_shared<const T>(make(*this));
    }));
  }

 private:
  Checkpoint() = default;
  const void* derived_value(
      std::type_index type, const std::function<std::shared_ptr<const void>()>& make
  ) const;
  std::filesystem::path folder_;
  Json config_;
  std::vector<std::string> names_;
  std::map<std::string, std::shared_ptr<const SafetensorsFile>> shards_;
  std::map<std::string, std::string> where_;
  mutable std::mutex derived_mutex_;
  mutable std::map<std::type_index, std::shared_ptr<const void>> derived_;
};

// Write side: streams shards in the order of `specs` into a StagedFolder. close() completes the
// shards and writes the index (total_size = sum of tensor bytes); commit() gives the folder its
// name. One shard only: model.safetensors without an index.
class CheckpointWriter {
 public:
  struct Options {
    int64_t max_shard_bytes = 5'000'000'000;
  };
  CheckpointWriter(std::filesystem::path folder, std::vector<TensorSpec> specs, Options options);
  ~CheckpointWriter();

  // As SafetensorsWriter::append.
  void append(const std::string& name, std::span<const std::byte> bytes);
  // Copies a side file of another checkpoint under the same name.
  void copy_side_file(const std::filesystem::path& source);
  void write_text(const std::string& name, std::string_view text);
  void write_json(const std::string& name, const Json& document);
  // Completes the shards and writes the index. Text files may still be added afterwards.
  void close();
  // The folder being written, "<folder>.partial"; what is put there is committed too.
  [[nodiscard]] const std::filesystem::path& staging() const;
  // Renames the folder into place; implies close().
  void commit();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hone
