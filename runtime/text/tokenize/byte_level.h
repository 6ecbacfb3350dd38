// The byte alphabet of GPT-2: every byte has one printable character ("Ġ" is the space).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hone {

// Appends the characters that stand for `bytes`.
void byte_level_encode(std::string_view bytes, std::string& out);

// The bytes that `token` stands for; nothing when it holds a character outside the alphabet.
// REQUIRES valid UTF-8.
std::optional<std::string> byte_level_decode(std::string_view token);

// The same with Hugging Face's rule for foreign characters: the token's own UTF-8 is kept.
std::string byte_level_decode_or_keep(std::string_view token);

}  // namespace hone
