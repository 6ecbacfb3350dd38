#include "runtime/text/tokenize/merge_table.h"

#include <algorithm>
#include <bit>

namespace hone {

void MergeTable::reserve(size_t count) {
  const size_t wanted = std::bit_ceil(std::max<size_t>(16, count * 2));
  if (wanted > slots_.size()) grow(wanted);
}

void MergeTable::grow(size_t slots) {
  std::vector<Slot> old(slots);
  std::swap(old, slots_);
  mask_ = slots - 1;
  for (const Slot& slot : old) {
    if (slot.key == kFree) continue;
    size_t at = slot_of(slot.key);
    while (slots_[at].key != kFree) at = (at + 1) & mask_;
    slots_[at] = slot;
  }
}

void MergeTable::add(int32_t left, int32_t right, Merge merge) {
  if ((count_ + 1) * 2 > slots_.size()) grow(std::max<size_t>(16, slots_.size() * 2));
  const uint64_t key = key_of(left, right);
  size_t at = slot_of(key);
  while (slots_[at].key != kFree && slots_[at].key != key) at = (at + 1) & mask_;
  if (slots_[at].key == kFree) ++count_;
  slots_[at] = {key, merge};
}

}  // namespace hone
