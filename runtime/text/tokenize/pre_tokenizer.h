// Pre-tokenizers of tokenizer.json: text cut into the pieces that BPE works on.
//
// Supported: Split, ByteLevel, Digits, Metaspace, Punctuation, Whitespace, WhitespaceSplit,
// BertPreTokenizer, CharDelimiterSplit, Sequence. Others are refused by name.
#pragma once

#include <cstdint>
#include <memory>
#include <memory_resource>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/json.h"
#include "runtime/text/regex/regex.h"

namespace hone {

// One piece. Byte i comes from offset source[i] of the original text, or from origin + i when
// `source` is null.
struct Piece {
  std::string_view text;
  const uint32_t* source = nullptr;
  uint32_t origin = 0;
  bool first = false;  // starts at offset 0 of the original text

  [[nodiscard]] Piece slice(size_t begin, size_t end) const {
    return {
        text.substr(begin, end - begin),
        source == nullptr ? nullptr : source + begin,
        static_cast<uint32_t>(origin + (source == nullptr ? begin : 0)),
        first && begin == 0};
  }
};

// A run of a piece and whether a pattern matched it.
struct PieceRun {
  size_t begin;
  size_t end;
  bool match;
};

// What pre-tokenization works on; reused from call to call.
struct PieceList {
  std::vector<Piece> pieces;
  std::vector<Piece> next;                              // being built by a step
  std::vector<PieceRun> runs;                           // of one piece
  std::pmr::monotonic_buffer_resource arena{64 << 10};  // rewritten text lives here
  RegexScratch regex;
  bool track = false;  // keep Piece::source when text is rewritten

  void clear() {
    pieces.clear();
    next.clear();
    arena.release();
  }
};

// Immutable; apply() may be called from several threads with different lists.
class PreTokenizer {
 public:
  struct Loaded {
    std::unique_ptr<const PreTokenizer> steps;  // null: the text is one piece
    bool raw_bytes = false;  // the pieces hold plain bytes, to be read in the byte alphabet
  };
  // With `allow_raw_bytes` a ByteLevel at the end leaves the bytes as they are. Throws DataError
  // naming an unknown type.
  static Loaded read(const Json& json, const std::string& source, bool allow_raw_bytes);
  virtual ~PreTokenizer() = default;

  // Replaces list.pieces by their parts. Empty pieces vanish.
  virtual void apply(PieceList& list) const = 0;
};

}  // namespace hone
