#include "speculator/autograd/arena.h"

#include <algorithm>
#include <bit>
#include <new>

#include "core/base/error.h"

namespace hone {
namespace {

constexpr std::align_val_t kAlignment{64};

// Sizes are rounded up in steps of an eighth of a power of two, so that batches of slightly
// different sizes share buffers.
int64_t class_of(int64_t count) {
  const auto wanted = static_cast<uint64_t>(std::max<int64_t>(count, 64));
  const uint64_t step = std::max<uint64_t>(std::bit_floor(wanted) / 8, 16);
  return static_cast<int64_t>((wanted + step - 1) / step * step);
}

}  // namespace

void Arena::Free::operator()(float* memory) const {
  ::operator delete(memory, kAlignment);
}

float* Arena::take(int64_t count) {
  const int64_t size_class = class_of(count);
  std::vector<size_t>& idle = idle_[size_class];
  if (idle.empty()) {
    const size_t bytes = static_cast<size_t>(size_class) * sizeof(float);
    Block block;
    block.memory.reset(static_cast<float*>(::operator new(bytes, kAlignment)));
    block.size_class = size_class;
    bytes_ += static_cast<int64_t>(bytes);
    idle.push_back(blocks_.size());
    index_[block.memory.get()] = blocks_.size();
    blocks_.push_back(std::move(block));
  }
  Block& block = blocks_[idle.back()];
  idle.pop_back();
  block.out = true;
  return block.memory.get();
}

void Arena::give_back(float* buffer) {
  const auto found = index_.find(buffer);
  check(found != index_.end(), "arena: a buffer that is not its own was given back");
  Block& block = blocks_[found->second];
  check(block.out, "arena: a buffer was given back twice");
  block.out = false;
  idle_[block.size_class].push_back(found->second);
}

void Arena::reclaim() {
  for (size_t i = 0; i < blocks_.size(); ++i) {
    if (!blocks_[i].out) continue;
    blocks_[i].out = false;
    idle_[blocks_[i].size_class].push_back(i);
  }
}

}  // namespace hone
