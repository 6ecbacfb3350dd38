// Added tokens: strings that are one token wherever they stand in the text.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace hone {

struct AddedToken {
  std::string content;
  int32_t id = 0;
  bool single_word = false;  // only where no word character touches it
  bool lstrip = false;       // takes the white space before it
  bool rstrip = false;       // and after it
  bool normalized = false;   // looked for in normalized text
  bool special = false;      // dropped by decode; may be left as text by encode
};

// Finds the longest of a set of strings at a position.
class TokenTrie {
 public:
  void add(std::string_view text, int32_t value);
  // Children become searchable; call once after the last add().
  void finish();
  [[nodiscard]] bool empty() const { return nodes_.size() == 1; }
  [[nodiscard]] bool may_start(char c) const { return starts_[static_cast<uint8_t>(c)]; }
  struct Hit {
    int32_t value = -1;
    size_t size = 0;
  };
  [[nodiscard]] Hit longest(std::string_view text, size_t at) const;

 private:
  struct Edge {
    uint8_t byte;
    int32_t node;
  };
  struct Node {
    int32_t value = -1;
    std::vector<Edge> edges;
  };
  std::vector<Node> nodes_{1};
  bool starts_[256] = {};
};

// A part of the text: an added token, or text in between (id < 0).
struct TextPart {
  size_t begin;
  size_t end;
  int32_t id;
};

// Which special tokens stay text.
struct SpecialRule {
  bool all_text = false;
  // Byte ranges of the original text, ascending and disjoint: a special token that overlaps one
  // stays text.
  std::span<const std::pair<size_t, size_t>> plain;
  // Where the bytes of the split text stand in the original: base + source[i], or base + i.
  size_t base = 0;
  const uint32_t* source = nullptr;

  [[nodiscard]] bool refuses(size_t begin, size_t end) const;
};

// Immutable.
class AddedTokens {
 public:
  AddedTokens() = default;
  // `normalized_content[i]` is tokens[i].content as the normalizer writes it.
  AddedTokens(std::vector<AddedToken> tokens, const std::vector<std::string>& normalized_content);

  // Cuts `text` at the tokens that are looked for before normalization, or after it. Empty parts
  // are left out.
  void split(
      std::string_view text, bool normalized, const SpecialRule& rule, std::vector<TextPart>& out
  ) const;
  [[nodiscard]] bool any(bool normalized) const {
    return !(normalized ? normalized_ : plain_).empty();
  }
  // Null when `id` is no added token.
  [[nodiscard]] const AddedToken* find(int32_t id) const;
  [[nodiscard]] const AddedToken* find(std::string_view content) const;
  [[nodiscard]] const std::vector<AddedToken>& tokens() const { return tokens_; }

 private:
  std::vector<AddedToken> tokens_;
  std::unordered_map<int32_t, size_t> by_id_;
  TokenTrie plain_;
  TokenTrie normalized_;
};

}  // namespace hone
