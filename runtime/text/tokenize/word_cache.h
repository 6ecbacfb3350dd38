// Remembers the ids of words that were met before. Not thread-safe: one per scratch.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hone {

class WordCache {
 public:
  static constexpr size_t kLongestWord = 48;  // longer ones are not worth remembering

  // Forgets everything when another owner asks: ids of two tokenizers never mix.
  void bind(const void* owner) {
    if (owner_ != owner) clear();
    owner_ = owner;
  }
  // Null data when the word is not there.
  [[nodiscard]] std::span<const int32_t> find(std::string_view word, uint64_t hash) const {
    if (slots_.empty()) return {};
    const Slot& slot = slots_[hash & (kSlots - 1)];
    if (slot.hash != hash || slot.size != word.size() ||
        std::string_view(words_).substr(slot.word, slot.size) != word) {
      return {};
    }
    return {ids_.data() + slot.ids, slot.count};
  }
  void add(std::string_view word, uint64_t hash, std::span<const int32_t> ids);

 private:
  static constexpr size_t kSlots = 1 << 14;
  static constexpr size_t kMaxBytes = 1 << 20;  // of words; then the cache starts anew
  struct Slot {
    uint64_t hash = 0;
    uint32_t word = 0;
    uint32_t ids = 0;
    uint16_t size = 0;
    uint16_t count = 0;
  };
  void clear();

  const void* owner_ = nullptr;
  std::vector<Slot> slots_;
  std::string words_;
  std::vector<int32_t> ids_;
};

}  // namespace hone
