// The merges of a BPE model: pair of ids -> rank and id of the joined token.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hone {

struct Merge {
  uint32_t rank;
  int32_t id;
};

class MergeTable {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;  // rank of a pair that does not merge

  void reserve(size_t count);
  // A pair that is there already takes the new rank.
  void add(int32_t left, int32_t right, Merge merge);
  [[nodiscard]] Merge find(int32_t left, int32_t right) const {
    if (slots_.empty()) return {kNone, -1};
    const uint64_t key = key_of(left, right);
    for (size_t at = slot_of(key);; at = (at + 1) & mask_) {
      if (slots_[at].key == key) return slots_[at].merge;
      if (slots_[at].key == kFree) return {kNone, -1};
    }
  }
  [[nodiscard]] size_t size() const { return count_; }

 private:
  static constexpr uint64_t kFree = UINT64_MAX;
  struct Slot {
    uint64_t key = kFree;
    Merge merge{kNone, -1};
  };
  static uint64_t key_of(int32_t left, int32_t right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  [[nodiscard]] size_t slot_of(uint64_t key) const {
    const uint64_t h = key * 0x9E3779B97F4A7C15ULL;
    return (h ^ h >> 32) & mask_;
  }
  void grow(size_t slots);

  std::vector<Slot> slots_;
  size_t mask_ = 0;
  size_t count_ = 0;
};

}  // namespace hone
