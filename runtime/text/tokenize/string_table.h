// An immutable map from strings to ids, one probe for most look-ups.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hone {

uint64_t hash_bytes(std::string_view bytes);

class StringTable {
 public:
  // Room for `count` strings of `bytes` bytes together.
  void reserve(size_t count, size_t bytes);
  // A string that is there already takes the new id.
  void add(std::string_view text, int32_t id);
  // -1 when it is not there.
  [[nodiscard]] int32_t find(std::string_view text) const {
    return slots_.empty() ? -1 : find(text, hash_bytes(text));
  }
  [[nodiscard]] int32_t find(std::string_view text, uint64_t hash) const;
  [[nodiscard]] size_t size() const { return count_; }
  [[nodiscard]] size_t longest() const { return longest_; }

 private:
  struct Slot {
    uint32_t tag = 0;  // upper half of the hash
    int32_t id = -1;   // -1: free
    uint32_t offset = 0;
    uint32_t size = 0;
  };
  void grow(size_t slots);

  std::vector<Slot> slots_;
  std::string bytes_;
  size_t count_ = 0;
  size_t longest_ = 0;
};

}  // namespace hone
