// A safetensors file read without trust and without giving up: what is wrong becomes a list.
//
// SafetensorsFile (core/io/safetensors.h) refuses a file at its first mistake; this reader keeps
// every tensor whose own entry is sound, so that a checker can report all mistakes at once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/tensor/tensor.h"

namespace hone {

struct ScannedTensor {
  std::string name;
  DType type = DType::kF32;
  Shape shape;
  uint64_t begin = 0;  // in the data that follows the header
  uint64_t end = 0;
};

struct ScanProblem {
  enum class Kind : uint8_t {
    kPointer,  // a Git LFS pointer instead of the file
    kHeader,   // cannot be opened, or has no readable header: no tensors at all
    kTensor,   // an entry that is left out: unknown dtype, size against offsets, outside the file
    kLayout,   // overlaps, holes, bytes after the last tensor: the format forbids them
  };
  Kind kind = Kind::kHeader;
  std::string tensor;  // empty: about the file
  std::string text;
};

// Immutable; concurrent reads are safe.
class SafetensorsScan {
 public:
  // Never throws for what the file holds.
  static SafetensorsScan open(const std::filesystem::path& path);

  // In file order; sound entries only.
  [[nodiscard]] const std::vector<ScannedTensor>& tensors() const { return tensors_; }
  [[nodiscard]] const std::vector<ScanProblem>& problems() const { return problems_; }
  // Names of the entries that were left out.
  [[nodiscard]] const std::vector<std::string>& broken() const { return broken_; }
  // Is there a header at all?
  [[nodiscard]] bool readable() const { return readable_; }
  // Valid as long as this object.
  [[nodiscard]] std::span<const std::byte> bytes(const ScannedTensor& tensor) const;
  // Releases the pages of bytes [offset, offset + size) of the tensor.
  void drop(const ScannedTensor& tensor, uint64_t offset, uint64_t size) const;

 private:
  void read_header();
  void check_layout(uint64_t data_size);

  std::optional<MappedFile> file_;
  uint64_t data_begin_ = 0;
  bool readable_ = false;
  std::vector<ScannedTensor> tensors_;
  std::vector<std::string> broken_;
  std::vector<ScanProblem> problems_;
};

}  // namespace hone
