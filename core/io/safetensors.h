// safetensors files: bounds-checked reader over a mapping, streaming writer.
//
// Layout: u64 little-endian header length, JSON header, tensor bytes. The reader trusts nothing:
// header length <= 100 MB and inside the file, offsets inside the data, begin <= end, size equal
// to shape x dtype, no duplicate names, no overlaps, no holes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/tensor/tensor.h"

namespace hone {

// What a writer must know before the first byte: the header comes first.
struct TensorSpec {
  std::string name;
  DType type = DType::kF32;
  Shape shape;
};

// Immutable after open(); concurrent reads are safe. Views live as long as this object.
class SafetensorsFile {
 public:
  // Throws DataError naming the file, the tensor and the offset. A Git-LFS pointer file is
  // recognised and said so.
  static std::shared_ptr<const SafetensorsFile> open(const std::filesystem::path& path);

  [[nodiscard]] const std::filesystem::path& path() const { return file_.path(); }
  // Names in file order (by offset).
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  [[nodiscard]] bool contains(const std::string& name) const;
  // Throws DataError when absent.
  [[nodiscard]] TensorView tensor(const std::string& name) const;
  [[nodiscard]] const std::map<std::string, std::string>& metadata() const { return metadata_; }
  // Releases the pages of a tensor that will not be read again soon.
  void drop(const std::string& name) const;
  // The same for bytes [offset, offset + size) of the tensor, and the opposite: reading them ahead.
  void drop(const std::string& name, int64_t offset, int64_t size) const;
  void prefetch(const std::string& name, int64_t offset, int64_t size) const;

 private:
  explicit SafetensorsFile(MappedFile file) : file_(std::move(file)) {}
  void parse_header();
  [[nodiscard]] size_t position(const std::string& name, int64_t offset, int64_t size) const;
  MappedFile file_;
  std::vector<std::string> names_;
  std::map<std::string, TensorView> tensors_;
  std::map<std::string, std::string> metadata_;
};

// Writes tensors strictly in the order of `specs`; the file appears under `path` only after
// finish(). Nothing is buffered beyond one megabyte.
class SafetensorsWriter {
 public:
  // Throws UsageError for duplicate names.
  SafetensorsWriter(
      const std::filesystem::path& path,
      std::vector<TensorSpec> specs,
      const std::map<std::string, std::string>& metadata = {{"format", "pt"}}
  );
  // Appends bytes of the current tensor; when it is full the next one becomes current.
  // Throws InternalError when more bytes come than `name` (the expected tensor) has.
  void append(const std::string& name, std::span<const std::byte> bytes);
  // Throws InternalError when bytes are missing.
  void finish();

 private:
  AtomicFile file_;
  std::vector<TensorSpec> specs_;
  size_t current_ = 0;
  int64_t written_ = 0;
};

// Convenience for small files (heads, tests).
void write_safetensors(
    const std::filesystem::path& path, const std::map<std::string, Tensor>& tensors
);

}  // namespace hone
