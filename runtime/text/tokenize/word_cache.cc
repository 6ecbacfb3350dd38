#include "runtime/text/tokenize/word_cache.h"

namespace hone {

void WordCache::clear() {
  slots_.assign(slots_.size(), Slot{});
  words_.clear();
  ids_.clear();
}

void WordCache::add(std::string_view word, uint64_t hash, std::span<const int32_t> ids) {
  if (word.size() > kLongestWord || ids.empty()) return;
  if (slots_.empty()) slots_.resize(kSlots);
  // Evicted words stay in the buffers until they are full.
  if (words_.size() + word.size() > kMaxBytes) clear();
  slots_[hash & (kSlots - 1)] = {
      hash,
      static_cast<uint32_t>(words_.size()),
      static_cast<uint32_t>(ids_.size()),
      static_cast<uint16_t>(word.size()),
      static_cast<uint16_t>(ids.size())};
  words_ += word;
  ids_.insert(ids_.end(), ids.begin(), ids.end());
}

}  // namespace hone
