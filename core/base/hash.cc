#include "core/base/hash.h"

#include <array>
#include <cerrno>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <openssl/evp.h>
#include <unistd.h>

#include "core/base/error.h"

namespace hone {

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  check(
      state_->context != nullptr && EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) == 1,
      "OpenSSL: SHA-256 is not available"
  );
}

Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

Sha256& Sha256::update(std::span<const std::byte> bytes) {
  check(state_ != nullptr, "Sha256: update after hex()");
  check(
      EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) == 1,
      "OpenSSL: EVP_DigestUpdate failed"
  );
  return *this;
}

Sha256& Sha256::update(std::string_view text) {
  return update(std::as_bytes(std::span(text.data(), text.size())));
}

std::string Sha256::hex() {
  check(state_ != nullptr, "Sha256: hex() called twice");
  std::array<unsigned char, 32> digest{};
  check(
      EVP_DigestFinal_ex(state_->context, digest.data(), nullptr) == 1,
      "OpenSSL: EVP_DigestFinal_ex failed"
  );
  state_.reset();
  std::string text;
  text.reserve(64);
  for (const unsigned char byte : digest) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

std::string sha256(std::string_view text) {
  return Sha256().update(text).hex();
}

std::string sha256_file(const std::filesystem::path& path) {
  // read() instead of a mapping: hashing a checkpoint must not fill the resident set, and a file
  // that shrinks meanwhile gives an error instead of SIGBUS.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const auto fail = [&](const char* action) {
    const std::string reason = std::generic_category().message(errno);
    if (fd >= 0) ::close(fd);
    throw DataError(fmt::format("{}: cannot {}: {}", path.string(), action, reason));
  };
  if (fd < 0) fail("open");
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
  Sha256 hash;
  std::vector<std::byte> buffer(size_t{1} << 20);
  for (;;) {
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("read");
    if (got == 0) break;
    hash.update(std::span(buffer.data(), static_cast<size_t>(got)));
  }
  ::close(fd);
  return hash.hex();
}

}  // namespace hone
