// Work memory of one thread, aligned to cache lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hone::cpu {

// Grows to the largest request and keeps it: a forward pass asks for the same sizes again and
// again. Meant to be thread_local; contents do not survive the next get().
class Scratch {
 public:
  // `floats` floats at a multiple of 64 bytes.
  float* get(int64_t floats) {
    const size_t needed = static_cast<size_t>(floats) + kLine / sizeof(float);
    if (storage_.size() < needed) storage_.resize(needed);
    const auto address = reinterpret_cast<uintptr_t>(storage_.data());
    return storage_.data() + (kLine - address % kLine) % kLine / sizeof(float);
  }

 private:
  static constexpr size_t kLine = 64;
  std::vector<float> storage_;
};

}  // namespace hone::cpu
