#include "runtime/text/tokenize/byte_level.h"

#include <array>
#include <cstdint>

#include "runtime/text/unicode/utf8.h"

namespace hone {
namespace {

// Printable bytes stand for themselves; the others follow U+0100 in order.
struct Alphabet {
  std::array<char32_t, 256> character{};
  std::array<int16_t, 0x180> byte{};

  constexpr Alphabet() {
    byte.fill(-1);
    char32_t next = 0x100;
    for (int b = 0; b < 256; ++b) {
      const bool printable =
          (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || (b >= 0xAE && b <= 0xFF);
      character[b] = printable ? static_cast<char32_t>(b) : next++;
      byte[character[b]] = static_cast<int16_t>(b);
    }
  }
};

constexpr Alphabet kAlphabet;

}  // namespace

void byte_level_encode(std::string_view bytes, std::string& out) {
  for (const char c : bytes) utf8_append(out, kAlphabet.character[static_cast<uint8_t>(c)]);
}

std::optional<std::string> byte_level_decode(std::string_view token) {
  std::string out;
  out.reserve(token.size());
  for (size_t at = 0; at < token.size();) {
    const CodePoint c = utf8_decode(token, at);
    if (c.value >= kAlphabet.byte.size() || kAlphabet.byte[c.value] < 0) return std::nullopt;
    out += static_cast<char>(kAlphabet.byte[c.value]);
    at += c.size;
  }
  return out;
}

std::string byte_level_decode_or_keep(std::string_view token) {
  auto bytes = byte_level_decode(token);
  return bytes ? std::move(*bytes) : std::string(token);
}

}  // namespace hone
