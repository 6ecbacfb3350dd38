#include "core/base/file.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/error.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBufferSize = size_t{1} << 20;

std::atomic<int64_t> g_write_fault{-1};

std::string reason(int error) {
  std::string text = std::generic_category().message(error);
  if (error == ENOSPC) return "disk full (" + text + "); free some space and run again";
  if (error == EDQUOT) return "disk quota exceeded (" + text + "); free some space and run again";
  return text;
}

[[noreturn]] void fail(const fs::path& path, std::string_view action, int error = errno) {
  throw DataError(fmt::format("{}: cannot {}: {}", path.string(), action, reason(error)));
}

// A file descriptor that is closed with its scope.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

int open_retry(const fs::path& path, int flags, mode_t mode = 0) {
  int fd;
  do {
    fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

// write(2) with the injected fault; like the kernel it writes what still fits first.
ssize_t write_some(int fd, const std::byte* data, size_t size) {
  const int64_t left = g_write_fault.load(std::memory_order_relaxed);
  if (left >= 0) {
    if (left == 0) {
      errno = ENOSPC;
      return -1;
    }
    size = std::min(size, static_cast<size_t>(left));
  }
  const ssize_t written = ::write(fd, data, size);
  if (left >= 0 && written > 0) g_write_fault.fetch_sub(written);
  return written;
}

void sync_path(const fs::path& path, int flags) {
  const Descriptor fd(open_retry(path, O_RDONLY | flags));
  if (fd.get() < 0) fail(path, "open for fsync");
  // Some network and overlay file systems have no fsync for folders and say EINVAL.
  if (::fsync(fd.get()) != 0 && errno != EINVAL) fail(path, "fsync");
}

fs::path parent_of(const fs::path& path) {
  const fs::path parent = path.parent_path();
  return parent.empty() ? fs::path(".") : parent;
}

}  // namespace

MappedFile MappedFile::open(const fs::path& path) {
  const Descriptor fd(open_retry(path, O_RDONLY));
  if (fd.get() < 0) fail(path, "open");
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) fail(path, "stat");
  require_data(S_ISREG(info.st_mode), "{}: is not a regular file", path.string());

  MappedFile file;
  file.path_ = path;
  const auto size = static_cast<size_t>(info.st_size);
  if (size == 0) return file;
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd.get(), 0);
  if (data == MAP_FAILED) fail(path, "map into memory");
  file.bytes_ = {static_cast<const std::byte*>(data), size};
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)), bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void MappedFile::drop(size_t offset, size_t size) const {
  require(
      offset <= bytes_.size() && size <= bytes_.size() - offset,
      "{}: drop of [{}, {} + {}) beyond the file's {} bytes",
      path_.string(),
      offset,
      offset,
      size,
      bytes_.size()
  );
  // The page at the end usually holds the beginning of what is read next, so it stays. Dropping a
  // page too many at the front only costs a second read.
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t begin = offset / page * page;
  const size_t end = offset + size == bytes_.size() ? bytes_.size() : (offset + size) / page * page;
  if (begin >= end) return;
  ::madvise(const_cast<std::byte*>(bytes_.data()) + begin, end - begin, MADV_DONTNEED);
}

void MappedFile::prefetch(size_t offset, size_t size) const {
  if (offset >= bytes_.size()) return;
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t begin = offset / page * page;
  const size_t end = offset + std::min(size, bytes_.size() - offset);
  ::madvise(const_cast<std::byte*>(bytes_.data()) + begin, end - begin, MADV_WILLNEED);
}

AtomicFile::AtomicFile(fs::path path)
    : path_(std::move(path)), partial_(path_), buffer_(new std::byte[kBufferSize]) {
  partial_ += ".partial";
  fd_ = open_retry(partial_, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (fd_ < 0) fail(partial_, "create");
}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(partial_.c_str());
}

void AtomicFile::append(std::string_view text) {
  append(std::as_bytes(std::span(text.data(), text.size())));
}

void AtomicFile::append(std::span<const std::byte> bytes) {
  check(fd_ >= 0, "{}: append after commit", path_.string());
  size_ += bytes.size();
  while (!bytes.empty()) {
    const size_t part = std::min(bytes.size(), kBufferSize - buffered_);
    std::memcpy(buffer_.get() + buffered_, bytes.data(), part);
    buffered_ += part;
    bytes = bytes.subspan(part);
    if (buffered_ == kBufferSize) flush();
  }
}

void AtomicFile::flush() {
  size_t done = 0;
  while (done < buffered_) {
    const ssize_t written = write_some(fd_, buffer_.get() + done, buffered_ - done);
    if (written < 0) {
      if (errno == EINTR) continue;
      fail(partial_, "write");
    }
    done += static_cast<size_t>(written);
  }
  buffered_ = 0;
}

void AtomicFile::commit() {
  check(fd_ >= 0, "{}: committed twice", path_.string());
  flush();
  if (::fsync(fd_) != 0 && errno != EINVAL) fail(partial_, "fsync");
  if (::rename(partial_.c_str(), path_.c_str()) != 0) fail(path_, "rename the finished file to");
  const int fd = std::exchange(fd_, -1);
  // close() can report a write error that a network file system kept back.
  if (::close(fd) != 0 && errno != EINTR) fail(path_, "close");
  sync_path(parent_of(path_), O_DIRECTORY);
}

namespace {

// "out/" -> "out"; "." and links are resolved, so that the staging folder stands beside the real
// folder, on the same file system.
fs::path output_path(fs::path path) {
  path = path.lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  const fs::path name = path.filename();
  if (name.empty() || name == "." || name == ".." || fs::is_symlink(path)) {
    std::error_code error;
    path = fs::weakly_canonical(path, error);
    if (error) fail(path, "resolve", error.value());
  }
  require(path.has_filename(), "{}: is no place for an output folder", path.string());
  return path;
}

int lock_folder(const fs::path& folder) {
  const int fd = open_retry(folder, O_RDONLY | O_DIRECTORY);
  if (fd < 0) fail(folder, "open");
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    const int error = errno;
    if (error == EWOULDBLOCK) {
      ::close(fd);
      throw UsageError(fmt::format(
          "{}: another process is writing this output; wait for it or choose another folder",
          folder.string()
      ));
    }
    // Without lock support of the file system two writers are the user's care.
  }
  return fd;
}

void sync_tree(const fs::path& root) {
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.is_symlink()) continue;
    if (entry.is_regular_file()) sync_path(entry.path(), 0);
    if (entry.is_directory()) sync_path(entry.path(), O_DIRECTORY);
  }
  sync_path(root, O_DIRECTORY);
}

void check_replaceable(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(fs::symlink_status(path, error))) return;
  require(
      fs::is_directory(path), "{}: exists and is not a folder; choose another name", path.string()
  );
  require(
      fs::is_empty(path) || fs::exists(path / "hone.json"),
      "{}: the folder exists and was not made by hone (no hone.json in it); it is left as it is; "
      "choose another name or remove it",
      path.string()
  );
}

}  // namespace

StagedFolder::StagedFolder(fs::path path) : path_(output_path(std::move(path))), staging_(path_) {
  staging_ += ".partial";
  check_replaceable(path_);
  std::error_code error;
  fs::create_directories(parent_of(path_), error);
  if (error) fail(parent_of(path_), "create folder", error.value());
  if (fs::exists(fs::symlink_status(staging_, error))) {
    const Descriptor old_lock(fs::is_directory(staging_) ? lock_folder(staging_) : -1);
    fs::remove_all(staging_, error);
    if (error) fail(staging_, "remove the leftover", error.value());
  }
  if (!fs::create_directory(staging_, error)) {
    fail(staging_, "create folder", error ? error.value() : EEXIST);
  }
  lock_ = lock_folder(staging_);
}

StagedFolder::~StagedFolder() {
  if (!committed_) {
    std::error_code ignored;
    fs::remove_all(staging_, ignored);
  }
  ::close(lock_);
}

void StagedFolder::commit() {
  check(!committed_, "{}: committed twice", path_.string());
  check_replaceable(path_);
  try {
    sync_tree(staging_);
  } catch (const fs::filesystem_error& error) {
    fail(staging_, "list", error.code().value());
  }
  if (!fs::exists(path_)) {
    if (::rename(staging_.c_str(), path_.c_str()) != 0)
      fail(path_, "rename the finished folder to");
    committed_ = true;
    sync_path(parent_of(path_), O_DIRECTORY);
    return;
  }
  // Swapping leaves no moment without a complete folder under the final name.
  const long swapped = ::syscall(
      SYS_renameat2, AT_FDCWD, staging_.c_str(), AT_FDCWD, path_.c_str(), RENAME_EXCHANGE
  );
  std::error_code error;
  if (swapped != 0) {
    if (errno != EINVAL && errno != ENOSYS) fail(path_, "replace");
    fs::path old = path_;
    old += ".replaced";
    fs::remove_all(old, error);
    if (::rename(path_.c_str(), old.c_str()) != 0) fail(path_, "move the old folder away from");
    if (::rename(staging_.c_str(), path_.c_str()) != 0) {
      const int cause = errno;
      ::rename(old.c_str(), path_.c_str());
      fail(path_, "rename the finished folder to", cause);
    }
    committed_ = true;
    sync_path(parent_of(path_), O_DIRECTORY);
    fs::remove_all(old, error);
    if (error) fail(old, "remove the replaced folder", error.value());
    return;
  }
  committed_ = true;
  sync_path(parent_of(path_), O_DIRECTORY);
  fs::remove_all(staging_, error);
  if (error) fail(staging_, "remove the replaced folder", error.value());
}

std::string read_text_file(const fs::path& path, uint64_t limit) {
  const Descriptor fd(open_retry(path, O_RDONLY));
  if (fd.get() < 0) fail(path, "open");
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) fail(path, "stat");
  require_data(!S_ISDIR(info.st_mode), "{}: is a folder, expected a file", path.string());
  const auto expected = static_cast<uint64_t>(std::max<off_t>(info.st_size, 0));
  std::string text;
  // The size is only a hint: a pipe says 0, and a file may grow while it is read.
  text.resize(static_cast<size_t>(std::min(expected, limit)) + 1);
  size_t done = 0;
  for (;;) {
    if (done == text.size()) text.resize(2 * text.size());
    const ssize_t got = ::read(fd.get(), text.data() + done, text.size() - done);
    if (got < 0) {
      if (errno == EINTR) continue;
      fail(path, "read");
    }
    if (got == 0) break;
    done += static_cast<size_t>(got);
    require_data(
        done <= limit,
        "{}: is larger than the {} bytes that are accepted here",
        path.string(),
        limit
    );
  }
  text.resize(done);
  return text;
}

void write_text_file(const fs::path& path, std::string_view text) {
  AtomicFile file(path);
  file.append(text);
  file.commit();
}

void inject_write_fault_after(int64_t bytes) {
  g_write_fault.store(bytes < 0 ? -1 : bytes);
}

}  // namespace hone
