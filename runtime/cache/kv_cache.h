// Paged key/value cache: pages of kPageTokens tokens from one pool, a page table per sequence.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace hone {

// Tokens in a page. Attention tiles are aligned to it, from position 0.
inline constexpr int64_t kPageTokens = 32;

// Geometry of one model's cache.
struct KvLayout {
  int64_t layers = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  bool operator==(const KvLayout&) const = default;
};

class KvSequence;

// The pool. K and V are float32, page layout [layer][kv_head][token in page][head_dim], so a tile
// of one head is contiguous. Not thread-safe: one owner (the engine).
class KvPool {
 public:
  // Memory is taken page by page as needed, up to `max_pages`.
  KvPool(KvLayout layout, int64_t max_pages);
  ~KvPool();
  [[nodiscard]] const KvLayout& layout() const;
  [[nodiscard]] int64_t free_pages() const;
  [[nodiscard]] int64_t max_pages() const;
  // Memory of one page, all layers, K and V.
  [[nodiscard]] int64_t page_bytes() const;

 private:
  friend class KvSequence;
  struct State;
  std::unique_ptr<State> state_;
};

// One sequence's cache. Pages return to the pool when it is destroyed or truncated.
// Must not outlive its pool.
class KvSequence {
 public:
  explicit KvSequence(KvPool& pool);
  ~KvSequence();
  KvSequence(KvSequence&&) noexcept;
  KvSequence& operator=(KvSequence&&) noexcept;

  [[nodiscard]] const KvLayout& layout() const;
  // Tokens whose K and V are stored.
  [[nodiscard]] int64_t length() const;
  // Slots that may be addressed: length() plus what reserve() made room for.
  [[nodiscard]] int64_t reserved() const;
  // Pages held.
  [[nodiscard]] int64_t pages() const;
  // Makes room for n more tokens. False when the pool has too few pages (nothing changes then).
  [[nodiscard]] bool reserve(int64_t n);
  // Counts n reserved slots as stored. Forward does this after writing them.
  void advance(int64_t n);
  // Forgets all tokens from `length` on (speculation that was rejected) and every reservation.
  void truncate(int64_t length);
  // Moves slots: token at length0 + keep[i] becomes token length0 + i, then truncates to
  // length0 + keep.size(). `keep` is strictly increasing. For accepted paths of a draft tree.
  void compact(int64_t length0, std::span<const int64_t> keep);

  // Row of one token: [head_dim] f32. Slots up to the reserved count may be addressed.
  float* key(int64_t layer, int64_t kv_head, int64_t token);
  float* value(int64_t layer, int64_t kv_head, int64_t token);
  // Tile of one page: [kPageTokens, head_dim] f32 contiguous.
  [[nodiscard]] const float* key_page(int64_t layer, int64_t kv_head, int64_t page) const;
  [[nodiscard]] const float* value_page(int64_t layer, int64_t kv_head, int64_t page) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hone
