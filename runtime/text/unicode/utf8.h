// UTF-8 and the character classes of Unicode that tokenizers and templates ask for.
//
// Functions marked REQUIRES valid read past nothing only when the text is valid UTF-8; text from
// outside goes through utf8_replace_invalid() first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace hone {

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD

// One decoded character and how many bytes it took.
struct CodePoint {
  char32_t value;
  uint32_t size;
};

// Bytes of the character whose first byte is `lead`. REQUIRES valid.
inline uint32_t utf8_size(char lead) {
  const auto byte = static_cast<uint8_t>(lead);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

// The character at `text[at]`. REQUIRES valid, and `at` on a character's first byte.
inline CodePoint utf8_decode(std::string_view text, size_t at) {
  const auto* p = reinterpret_cast<const uint8_t*>(text.data()) + at;
  if (p[0] < 0x80) return {p[0], 1};
  if (p[0] < 0xE0) return {static_cast<char32_t>((p[0] & 0x1F) << 6 | (p[1] & 0x3F)), 2};
  if (p[0] < 0xF0) {
    return {static_cast<char32_t>((p[0] & 0x0F) << 12 | (p[1] & 0x3F) << 6 | (p[2] & 0x3F)), 3};
  }
  return {
      static_cast<char32_t>(
          (p[0] & 0x07) << 18 | (p[1] & 0x3F) << 12 | (p[2] & 0x3F) << 6 | (p[3] & 0x3F)
      ),
      4};
}

// Start of the character that ends before `end` (> 0). REQUIRES valid.
inline size_t utf8_previous(std::string_view text, size_t end) {
  do {
    --end;
  } while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xC0) == 0x80);
  return end;
}

// Appends a character; surrogates and values above U+10FFFF become U+FFFD.
void utf8_append(std::string& out, char32_t value);

bool is_ascii(std::string_view text);
bool utf8_valid(std::string_view text);
// Number of characters. REQUIRES valid.
size_t utf8_length(std::string_view text);

// Invalid bytes become U+FFFD, one for each maximal part of a broken character, as Python's
// bytes.decode(errors="replace") and Rust's from_utf8_lossy do.
std::string utf8_replace_invalid(std::string_view text);

// Bytes at the end of `text` that start a character which is not complete yet (0 to 3).
size_t utf8_incomplete_suffix(std::string_view text);

// Properties, as Rust's `char` and regex crates and Python's `str` define them.
bool is_white_space(char32_t c);  // White_Space
bool is_numeric(char32_t c);      // general categories Nd, Nl, No
bool is_decimal(char32_t c);      // general category Nd
bool is_word(char32_t c);         // regex \w: Alphabetic, M, Nd, Pc, Join_Control
bool is_punctuation(char32_t c);  // ASCII punctuation or general category P
bool is_mark(char32_t c);         // general category M
bool is_printable(char32_t c);    // Python's str.isprintable()
bool is_upper(char32_t c);
bool is_lower(char32_t c);
bool is_letter(char32_t c);  // general category L

// Whole-string case mapping, character by character (Python and Rust differ from it only in
// context rules such as the final sigma). REQUIRES valid.
std::string utf8_lower(std::string_view text);
std::string utf8_upper(std::string_view text);
// Appends one character in the given case.
void utf8_append_lower(std::string& out, char32_t c);
void utf8_append_upper(std::string& out, char32_t c);

}  // namespace hone
