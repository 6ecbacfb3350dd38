// Float buffers that are used again: a training step allocates hundreds of them, and fresh pages
// would cost more than the arithmetic.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace hone {

// Hands out 64-byte aligned buffers; contents are whatever was there. Not thread-safe.
class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Room for at least `count` floats.
  float* take(int64_t count);
  // Returns a buffer of take(); it may be handed out again at once.
  void give_back(float* buffer);
  // Returns all buffers that are still out.
  void reclaim();
  // Bytes ever taken from the system.
  [[nodiscard]] int64_t bytes() const { return bytes_; }

 private:
  struct Free {
    void operator()(float* memory) const;
  };
  struct Block {
    std::unique_ptr<float, Free> memory;
    int64_t size_class = 0;
    bool out = false;
  };
  std::map<const float*, size_t> index_;
  std::vector<Block> blocks_;
  std::map<int64_t, std::vector<size_t>> idle_;
  int64_t bytes_ = 0;
};

}  // namespace hone
