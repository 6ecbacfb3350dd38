// tokenizer.json as Hugging Face reads it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hone {

// What to do with text that spells a special token ("<|im_end|>").
enum class SpecialTokens : uint8_t {
  kParse,  // becomes the token: rendered templates
  kText,   // stays ordinary text: what users type
};

// Immutable; encode and decode may be called from several threads.
class Tokenizer {
 public:
  // Reads tokenizer.json and tokenizer_config.json of a checkpoint folder. Throws DataError naming
  // the file and the component that is missing or not supported.
  static std::shared_ptr<const Tokenizer> load(const std::filesystem::path& folder);
  // From the text of a tokenizer.json.
  static std::shared_ptr<const Tokenizer> parse(std::string_view json, const std::string& source);
  ~Tokenizer();

  // Ids of `text`. No BOS or EOS is added unless `add_special` asks for the post-processor.
  [[nodiscard]] std::vector<int32_t> encode(
      std::string_view text, SpecialTokens special = SpecialTokens::kParse, bool add_special = false
  ) const;
  // Text of ids; incomplete UTF-8 becomes U+FFFD. skip_special drops special tokens.
  [[nodiscard]] std::string decode(std::span<const int32_t> ids, bool skip_special = true) const;
  // Raw bytes of one token (byte-level decoded), before any replacement.
  [[nodiscard]] std::string token_bytes(int32_t id) const;
  [[nodiscard]] std::optional<int32_t> token_id(std::string_view token) const;
  [[nodiscard]] bool is_special(int32_t id) const;
  // Largest id + 1.
  [[nodiscard]] int32_t vocab_size() const;

 private:
  struct State;
  explicit Tokenizer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Decodes a growing sequence without ever emitting half a UTF-8 character.
class StreamDecoder {
 public:
  explicit StreamDecoder(std::shared_ptr<const Tokenizer> tokenizer, bool skip_special = true);
  // Text that became complete with this token; may be empty.
  std::string push(int32_t id);
  // What is left at the end, with U+FFFD for an incomplete character.
  std::string finish();

 private:
  std::shared_ptr<const Tokenizer> tokenizer_;
  bool skip_special_;
  std::string pending_;
};

}  // namespace hone
