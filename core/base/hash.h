// SHA-256 of bytes and files (OpenSSL).
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace hone {

// Incremental SHA-256.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  Sha256& update(std::span<const std::byte> bytes);
  Sha256& update(std::string_view text);
  // Lower-case hex, 64 characters. The object must not be used afterwards.
  std::string hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Lower-case hex digest of `text`.
std::string sha256(std::string_view text);
// Lower-case hex digest of a file's bytes. Throws DataError naming the path.
std::string sha256_file(const std::filesystem::path& path);

}  // namespace hone
