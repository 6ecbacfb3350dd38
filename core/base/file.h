// Files: memory-mapped input, and output that is either complete or absent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace hone {

// A read-only memory mapping of a whole file. Symbolic links are followed (hub caches need it).
// Movable; pages live as long as the object. Safe for concurrent readers.
class MappedFile {
 public:
  // Throws DataError naming `path` when it cannot be opened or mapped, or is no regular file.
  // An empty file maps to an empty span.
  static MappedFile open(const std::filesystem::path& path);

  MappedFile(MappedFile&&) noexcept;
  MappedFile& operator=(MappedFile&&) noexcept;
  ~MappedFile();

  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  // Tells the kernel that [offset, offset + size) will not be read again soon, so that streaming
  // over a checkpoint larger than memory keeps the resident set small.
  void drop(size_t offset, size_t size) const;
  // Asks the kernel to read [offset, offset + size) in the background. A part beyond the end of the
  // file is ignored.
  void prefetch(size_t offset, size_t size) const;

 private:
  MappedFile() = default;
  std::filesystem::path path_;
  std::span<const std::byte> bytes_;
};

// A file that appears under its name only when commit() succeeds: bytes go to "<path>.partial",
// commit() fsyncs, renames and fsyncs the folder. Destroyed without commit(), it removes the
// partial file. Every failed system call (full disk included) throws DataError naming the path.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void append(std::span<const std::byte> bytes);
  void append(std::string_view text);
  void commit();
  [[nodiscard]] uint64_t size() const { return size_; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  void flush();
  std::filesystem::path path_;
  std::filesystem::path partial_;
  int fd_ = -1;
  uint64_t size_ = 0;
  std::unique_ptr<std::byte[]> buffer_;
  size_t buffered_ = 0;
};

// A folder that appears under its name only when commit() succeeds: files are written into
// "<path>.partial/", a leftover of which is removed first (one that another process is writing is
// refused: UsageError). An existing `path` is replaced by commit() when it is empty or holds a
// hone.json (our own output); any other is refused (UsageError in the constructor). A trailing
// slash is ignored; a symbolic link is resolved first. commit() fsyncs every file and swaps the
// folders in one step, so that after a crash either the old or the new one is complete.
class StagedFolder {
 public:
  explicit StagedFolder(std::filesystem::path path);
  StagedFolder(const StagedFolder&) = delete;
  StagedFolder& operator=(const StagedFolder&) = delete;
  // Without commit() the partial folder is removed.
  ~StagedFolder();

  // Where to write; equals "<path>.partial".
  [[nodiscard]] const std::filesystem::path& staging() const { return staging_; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path staging_;
  int lock_ = -1;
  bool committed_ = false;
};

// Whole file as text. Throws DataError naming the path, or when it is larger than `limit` bytes.
std::string read_text_file(const std::filesystem::path& path, uint64_t limit = 1ULL << 31);

// Writes through AtomicFile.
void write_text_file(const std::filesystem::path& path, std::string_view text);

// Test hook: after `bytes` more bytes every AtomicFile of this process fails as on a full disk
// (ENOSPC). Negative: off (the default).
void inject_write_fault_after(int64_t bytes);

}  // namespace hone
