// Normalizers of tokenizer.json: text rewritten before it is split.
//
// Supported: NFC, NFD, NFKC, NFKD, Lowercase, Prepend, Replace, Strip, StripAccents, ByteLevel,
// Sequence. Others are refused by name.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/json.h"
#include "runtime/text/regex/regex.h"

namespace hone {

// Text being rewritten. With `track`, source[i] is the offset in the input of what became
// text[i] (of its neighbour, for inserted text).
struct RewrittenText {
  std::string text;
  std::vector<uint32_t> source;
  bool track = false;

  void clear() {
    text.clear();
    source.clear();
  }
  void append(std::string_view bytes, size_t from) {
    text += bytes;
    if (track) source.insert(source.end(), bytes.size(), static_cast<uint32_t>(from));
  }
  // `bytes` stand unchanged at `from` of the input.
  void copy(std::string_view bytes, size_t from) {
    text += bytes;
    if (track) {
      for (size_t i = 0; i < bytes.size(); ++i) source.push_back(static_cast<uint32_t>(from + i));
    }
  }
};

// Immutable; apply() may be called from several threads.
class Normalizer {
 public:
  // Throws DataError naming an unknown type. Null json: no normalizer (null pointer).
  static std::unique_ptr<const Normalizer> read(const Json& json, const std::string& source);
  virtual ~Normalizer() = default;

  // Writes the normalized text to `out` (cleared first); false, and `out` is unspecified, when the
  // text stays as it is. `text` must be valid UTF-8.
  virtual bool apply(std::string_view text, RegexScratch& scratch, RewrittenText& out) const = 0;
};

}  // namespace hone
