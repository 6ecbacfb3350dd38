// Byte-pair encoding of one piece of text, with the exact result of Hugging Face's BPE model:
// the merge of the lowest rank first, the leftmost of equal ones, until none is left.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/text/tokenize/merge_table.h"
#include "runtime/text/tokenize/string_table.h"
#include "runtime/text/tokenize/word_cache.h"

namespace hone {

// What a tokenizer.json says about its model besides vocabulary and merges.
struct BpeOptions {
  std::optional<std::string> unk_token;
  std::string continuing_subword_prefix;
  std::string end_of_word_suffix;
  bool fuse_unk = false;
  bool byte_fallback = false;
  bool ignore_merges = false;
  bool raw_bytes = false;  // pieces are plain bytes; the vocabulary is written in the byte alphabet
};

// Buffers of encode(), reused from call to call.
class BpeScratch {
 private:
  friend class BpeModel;
  struct Symbol {
    int32_t id;
    uint32_t size;  // bytes of the piece
    int32_t previous;
    int32_t next;  // -1: last
  };
  struct Candidate {
    uint64_t order;  // rank, then position: smallest first
    int32_t id;      // of the joined token
  };
  std::vector<Symbol> symbols_;
  std::vector<Candidate> heap_;
  std::vector<uint32_t> ranks_;
  std::string key_;
  WordCache cache_;
};

// Immutable after loading; encode() may be called from several threads with different scratches.
class BpeModel {
 public:
  using MergeText = std::pair<std::string_view, std::string_view>;

  // `vocabulary`: token and id. Throws DataError "<source>: ..." for a merge outside the
  // vocabulary, an unknown unk_token, or an id out of range.
  BpeModel(
      BpeOptions options,
      const std::vector<std::pair<std::string_view, int32_t>>& vocabulary,
      const std::vector<MergeText>& merges,
      const std::string& source
  );

  // Appends the ids of one piece, and to `sizes` (when given) how many bytes of the piece each
  // covers. The piece is UTF-8, or bytes with raw_bytes.
  void encode(
      std::string_view piece,
      BpeScratch& scratch,
      std::vector<int32_t>& ids,
      std::vector<uint32_t>* sizes = nullptr
  ) const;

  // By the token as the vocabulary writes it; -1 when it is not there.
  [[nodiscard]] int32_t find(std::string_view token) const { return tokens_.find(token); }
  // The token as the vocabulary writes it; empty when there is none.
  [[nodiscard]] std::string_view token(int32_t id) const;
  // Largest id + 1.
  [[nodiscard]] int32_t size() const { return static_cast<int32_t>(text_.size()); }

 private:
  void load_merges(const std::vector<MergeText>& merges, const std::string& source);
  void start_symbols(std::string_view piece, BpeScratch& scratch) const;
  void start_raw_symbols(std::string_view piece, BpeScratch& scratch) const;
  void merge_few(BpeScratch& scratch) const;
  void merge_many(BpeScratch& scratch) const;
  void push_candidate(BpeScratch& scratch, int32_t left) const;
  void run(std::string_view piece, BpeScratch& scratch) const;
  [[nodiscard]] const StringTable& pieces() const {
    return options_.raw_bytes ? raw_tokens_ : tokens_;
  }

  BpeOptions options_;
  StringTable tokens_;                  // as the vocabulary writes them
  StringTable raw_tokens_;              // raw_bytes: as bytes, those inside the byte alphabet
  std::vector<std::string_view> text_;  // by id, into storage_
  std::string storage_;
  MergeTable merges_;
  int32_t unk_id_ = -1;
  std::array<int32_t, 256> byte_ids_{};  // of the byte, or of its <0xHH>; -1: none
  // Per id: whether BPE of the token's own text gives just this token. Filled as met.
  mutable std::vector<std::atomic<uint8_t>> whole_;
};

}  // namespace hone
