// tokenizer.json as Hugging Face reads it: BPE models (byte-level and SentencePiece style).
//
// Invalid UTF-8 in a text becomes U+FFFD before anything else, one for each maximal part of a
// broken character (Python's errors="replace"). Components that are not supported are refused by
// name when the file is read. "truncation" and "padding" are not applied.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hone {

// What to do with text that spells a special token ("<|im_end|>").
enum class SpecialTokens : uint8_t {
  kParse,  // becomes the token: rendered templates
  kText,   // stays ordinary text: what users type
};

// Bytes [first, second) of a text.
using TextSpan = std::pair<size_t, size_t>;

struct EncodeOptions {
  SpecialTokens special = SpecialTokens::kParse;
  bool add_special = false;  // the post-processor's tokens (BOS, EOS)
  bool offsets = false;      // fill Encoding::offsets
  // Ascending and disjoint: a special token that overlaps one of these stays ordinary text
  // (Rendering::input_spans: what came from the user), everything else is encoded as without them.
  std::span<const TextSpan> plain_spans;
};

struct Encoding {
  std::vector<int32_t> ids;
  // Where each token starts in the text (after replacement of invalid UTF-8). Tokens that stand for
  // no text carry the offset of what follows; a token inside a character, that of the character.
  std::vector<size_t> offsets;
};

// 1 for every token that covers a byte of one of the spans, else 0 (loss masks: the tokens of
// Rendering::generation_spans). `text_size`: bytes of the encoded text.
std::vector<uint8_t> tokens_inside(
    const Encoding& encoding, size_t text_size, std::span<const TextSpan> spans
);

// Immutable; encode and decode may be called from several threads.
class Tokenizer {
 public:
  // Reads tokenizer.json and tokenizer_config.json (may be absent) of a checkpoint folder. Throws
  // DataError naming the file and the component that is missing or not supported.
  static std::shared_ptr<const Tokenizer> load(const std::filesystem::path& folder);
  // From the text of a tokenizer.json.
  static std::shared_ptr<const Tokenizer> parse(std::string_view json, const std::string& source);
  ~Tokenizer();

  // Ids of `text`. No BOS or EOS is added unless `add_special` asks for the post-processor.
  [[nodiscard]] std::vector<int32_t> encode(
      std::string_view text, SpecialTokens special = SpecialTokens::kParse, bool add_special = false
  ) const;
  [[nodiscard]] Encoding encode_with(std::string_view text, const EncodeOptions& options) const;
  // Text of ids; incomplete UTF-8 becomes U+FFFD. skip_special drops special tokens. Ids outside
  // the vocabulary add nothing.
  [[nodiscard]] std::string decode(std::span<const int32_t> ids, bool skip_special = true) const;
  // Raw bytes of one token (byte-level decoded), before any replacement, as it stands inside a
  // text. Empty for an id outside the vocabulary.
  [[nodiscard]] std::string token_bytes(int32_t id) const;
  // By the token as the file writes it ("Ġthe", "<|im_end|>").
  [[nodiscard]] std::optional<int32_t> token_id(std::string_view token) const;
  // The same way back; empty for an id outside the vocabulary.
  [[nodiscard]] std::string token_text(int32_t id) const;
  [[nodiscard]] bool is_special(int32_t id) const;
  // Largest id + 1.
  [[nodiscard]] int32_t vocab_size() const;

 private:
  friend class StreamDecoder;
  struct State;
  explicit Tokenizer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Decodes a growing sequence without ever emitting half a UTF-8 character. What push() and finish()
// return, joined, is decode() of the ids; only where byte tokens spell invalid UTF-8 may it keep
// characters that decode() replaces, since they were emitted before the fault.
class StreamDecoder {
 public:
  explicit StreamDecoder(std::shared_ptr<const Tokenizer> tokenizer, bool skip_special = true);
  StreamDecoder(StreamDecoder&&) noexcept;
  StreamDecoder& operator=(StreamDecoder&&) noexcept;
  ~StreamDecoder();
  // Text that became complete with this token; may be empty.
  std::string push(int32_t id);
  // What is left at the end, with U+FFFD for an incomplete character.
  std::string finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hone
