#include "runtime/cache/kv_cache.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "core/base/error.h"

namespace hone {
namespace {

int64_t pages_for(int64_t tokens) {
  return (tokens + kPageTokens - 1) / kPageTokens;
}

}  // namespace

struct KvPool::State {
  KvLayout layout;
  int64_t max_pages = 0;
  int64_t plane = 0;  // floats of one layer's K (or V) in one page
  // A page holds K of all layers, then V of all layers. Allocated on first use, then recycled.
  std::vector<std::unique_ptr<float[]>> pages;
  std::vector<int32_t> free;  // allocated pages that nobody holds; the last freed is reused first

  [[nodiscard]] int64_t available() const {
    return max_pages - static_cast<int64_t>(pages.size()) + static_cast<int64_t>(free.size());
  }
  int32_t take() {
    if (!free.empty()) {
      const int32_t page = free.back();
      free.pop_back();
      return page;
    }
    // Attention reads whole tiles and multiplies slots beyond the length by nothing, but they must
    // not be NaN by accident: value-initialised.
    const size_t floats = static_cast<size_t>(2 * layout.layers * plane);
    free.reserve(pages.size() + 1);  // giving pages back must not throw
    pages.push_back(std::make_unique<float[]>(floats));
    return static_cast<int32_t>(pages.size() - 1);
  }
};

KvPool::KvPool(KvLayout layout, int64_t max_pages) : state_(std::make_unique<State>()) {
  require(
      layout.layers >= 1 && layout.kv_heads >= 1 && layout.head_dim >= 1,
      "KV layout of {} layers, {} heads, {} dimensions; expected at least 1 each",
      layout.layers,
      layout.kv_heads,
      layout.head_dim
  );
  require(
      max_pages >= 1 && max_pages <= std::numeric_limits<int32_t>::max(),
      "KV pool of {} pages, expected at least 1",
      max_pages
  );
  state_->layout = layout;
  state_->max_pages = max_pages;
  state_->plane = layout.kv_heads * kPageTokens * layout.head_dim;
}

KvPool::~KvPool() = default;

const KvLayout& KvPool::layout() const {
  return state_->layout;
}

int64_t KvPool::free_pages() const {
  return state_->available();
}

int64_t KvPool::max_pages() const {
  return state_->max_pages;
}

int64_t KvPool::page_bytes() const {
  return 2 * state_->layout.layers * state_->plane * static_cast<int64_t>(sizeof(float));
}

struct KvSequence::State {
  KvPool::State* pool = nullptr;
  std::vector<int32_t> pages;  // page table: tokens [32 i, 32 i + 32) lie in pages[i]
  int64_t length = 0;
  int64_t reserved = 0;  // slots that may be addressed

  void give_back_from(size_t page) {
    while (pages.size() > page) {
      pool->free.push_back(pages.back());
      pages.pop_back();
    }
  }
  // First float of [kv_heads, kPageTokens, head_dim] of one layer in one page.
  [[nodiscard]] float* plane(int64_t layer, int64_t page, bool value) const {
    const KvLayout& layout = pool->layout;
    dcheck(layer >= 0 && layer < layout.layers, "KV layer {} of {}", layer, layout.layers);
    dcheck(page >= 0 && page < static_cast<int64_t>(pages.size()), "KV page {}", page);
    float* base = pool->pages[static_cast<size_t>(pages[static_cast<size_t>(page)])].get();
    return base + ((value ? layout.layers : 0) + layer) * pool->plane;
  }
  [[nodiscard]] float* row(int64_t layer, int64_t kv_head, int64_t token, bool value) const {
    const KvLayout& layout = pool->layout;
    dcheck(token >= 0 && token < reserved, "KV slot {} of {} reserved", token, reserved);
    dcheck(kv_head >= 0 && kv_head < layout.kv_heads, "KV head {}", kv_head);
    return plane(layer, token / kPageTokens, value) +
           (kv_head * kPageTokens + token % kPageTokens) * layout.head_dim;
  }
};

KvSequence::KvSequence(KvPool& pool) : state_(std::make_unique<State>()) {
  state_->pool = pool.state_.get();
}

KvSequence::~KvSequence() {
  if (state_) state_->give_back_from(0);
}

KvSequence::KvSequence(KvSequence&&) noexcept = default;

KvSequence& KvSequence::operator=(KvSequence&& other) noexcept {
  if (this != &other) {
    if (state_) state_->give_back_from(0);
    state_ = std::move(other.state_);
  }
  return *this;
}

const KvLayout& KvSequence::layout() const {
  return state_->pool->layout;
}

int64_t KvSequence::length() const {
  return state_->length;
}

int64_t KvSequence::reserved() const {
  return state_->reserved;
}

bool KvSequence::reserve(int64_t n) {
  require(n >= 0, "KV reservation of {} tokens, expected at least 0", n);
  const int64_t slots = state_->length + n;
  if (slots <= state_->reserved) return true;
  const int64_t missing = pages_for(slots) - static_cast<int64_t>(state_->pages.size());
  if (missing > state_->pool->available()) return false;
  for (int64_t i = 0; i < missing; ++i) state_->pages.push_back(state_->pool->take());
  state_->reserved = slots;
  return true;
}

void KvSequence::advance(int64_t n) {
  check(
      n >= 0 && state_->length + n <= state_->reserved,
      "KV length {} advanced by {} beyond the {} reserved slots",
      state_->length,
      n,
      state_->reserved
  );
  state_->length += n;
}

void KvSequence::truncate(int64_t length) {
  check(
      length >= 0 && length <= state_->length,
      "KV truncated to {} tokens, but {} are stored",
      length,
      state_->length
  );
  state_->length = length;
  state_->reserved = length;
  state_->give_back_from(static_cast<size_t>(pages_for(length)));
}

void KvSequence::compact(int64_t length0, std::span<const int64_t> keep) {
  const KvLayout& layout = state_->pool->layout;
  int64_t previous = -1;
  for (const int64_t slot : keep) {
    check(
        slot > previous && length0 + slot < state_->length,
        "KV compaction keeps slot {} after {}, of {} behind {}",
        slot,
        previous,
        state_->length - length0,
        length0
    );
    previous = slot;
  }
  const size_t bytes = static_cast<size_t>(layout.head_dim) * sizeof(float);
  for (size_t i = 0; i < keep.size(); ++i) {
    const int64_t to = length0 + static_cast<int64_t>(i);
    const int64_t from = length0 + keep[i];
    if (from == to) continue;
    for (int64_t layer = 0; layer < layout.layers; ++layer) {
      for (int64_t head = 0; head < layout.kv_heads; ++head) {
        std::memcpy(key(layer, head, to), key(layer, head, from), bytes);
        std::memcpy(value(layer, head, to), value(layer, head, from), bytes);
      }
    }
  }
  truncate(length0 + static_cast<int64_t>(keep.size()));
}

float* KvSequence::key(int64_t layer, int64_t kv_head, int64_t token) {
  return state_->row(layer, kv_head, token, false);
}

float* KvSequence::value(int64_t layer, int64_t kv_head, int64_t token) {
  return state_->row(layer, kv_head, token, true);
}

const float* KvSequence::key_page(int64_t layer, int64_t kv_head, int64_t page) const {
  const int64_t tile = kPageTokens * state_->pool->layout.head_dim;
  return state_->plane(layer, page, false) + kv_head * tile;
}

const float* KvSequence::value_page(int64_t layer, int64_t kv_head, int64_t page) const {
  const int64_t tile = kPageTokens * state_->pool->layout.head_dim;
  return state_->plane(layer, page, true) + kv_head * tile;
}

int64_t KvSequence::pages() const {
  return static_cast<int64_t>(state_->pages.size());
}

}  // namespace hone
