#include "runtime/text/tokenize/string_table.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/base/error.h"

namespace hone {
namespace {

uint64_t load(const char* p, size_t size) {
  uint64_t value = 0;
  std::memcpy(&value, p, size);
  return value;
}

// Multiplies to 128 bits and folds: mixes every input bit into every output bit.
uint64_t mix(uint64_t a, uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

constexpr uint64_t kA = 0x9E3779B97F4A7C15ULL;
constexpr uint64_t kB = 0xD6E8FEB86659FD93ULL;

}  // namespace

uint64_t hash_bytes(std::string_view bytes) {
  const char* p = bytes.data();
  size_t left = bytes.size();
  uint64_t state = left * kA;
  for (; left > 8; p += 8, left -= 8) state = mix(state ^ load(p, 8), kB);
  return mix(state ^ (left == 0 ? 0 : load(p, left)), kA ^ kB);
}

void StringTable::reserve(size_t count, size_t bytes) {
  bytes_.reserve(bytes);
  const size_t wanted = std::bit_ceil(std::max<size_t>(16, count * 2));
  if (wanted > slots_.size()) grow(wanted);
}

void StringTable::grow(size_t slots) {
  std::vector<Slot> old(slots);
  std::swap(old, slots_);
  const size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.id < 0) continue;
    const uint64_t hash = hash_bytes({bytes_.data() + slot.offset, slot.size});
    size_t at = hash & mask;
    while (slots_[at].id >= 0) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

void StringTable::add(std::string_view text, int32_t id) {
  check(id >= 0, "StringTable: negative id {}", id);
  if ((count_ + 1) * 2 > slots_.size()) grow(std::max<size_t>(16, slots_.size() * 2));
  const uint64_t hash = hash_bytes(text);
  const auto tag = static_cast<uint32_t>(hash >> 32);
  const size_t mask = slots_.size() - 1;
  size_t at = hash & mask;
  for (; slots_[at].id >= 0; at = (at + 1) & mask) {
    Slot& slot = slots_[at];
    if (slot.tag == tag && std::string_view(bytes_).substr(slot.offset, slot.size) == text) {
      slot.id = id;
      return;
    }
  }
  require_data(
      bytes_.size() + text.size() <= UINT32_MAX, "vocabulary holds more than 4 GiB of text"
  );
  slots_[at] = {tag, id, static_cast<uint32_t>(bytes_.size()), static_cast<uint32_t>(text.size())};
  bytes_ += text;
  ++count_;
  longest_ = std::max(longest_, text.size());
}

int32_t StringTable::find(std::string_view text, uint64_t hash) const {
  if (slots_.empty()) return -1;
  const auto tag = static_cast<uint32_t>(hash >> 32);
  const size_t mask = slots_.size() - 1;
  for (size_t at = hash & mask; slots_[at].id >= 0; at = (at + 1) & mask) {
    const Slot& slot = slots_[at];
    if (slot.tag == tag && slot.size == text.size() &&
        std::memcmp(bytes_.data() + slot.offset, text.data(), text.size()) == 0) {
      return slot.id;
    }
  }
  return -1;
}

}  // namespace hone
