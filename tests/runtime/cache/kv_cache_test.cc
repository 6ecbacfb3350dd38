#include "runtime/cache/kv_cache.h"

#include <map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/rng.h"

namespace hone {
namespace {

constexpr KvLayout kLayout{.layers = 2, .kv_heads = 3, .head_dim = 5};

// A value that names its place.
float mark(int64_t layer, int64_t head, int64_t token, bool value) {
  return static_cast<float>(((layer * 10 + head) * 1000 + token) * 2 + (value ? 1 : 0));
}

void fill(KvSequence& sequence, int64_t token, int64_t name) {
  for (int64_t layer = 0; layer < kLayout.layers; ++layer) {
    for (int64_t head = 0; head < kLayout.kv_heads; ++head) {
      for (int64_t d = 0; d < kLayout.head_dim; ++d) {
        sequence.key(layer, head, token)[d] = mark(layer, head, name, false);
        sequence.value(layer, head, token)[d] = mark(layer, head, name, true);
      }
    }
  }
}

// The name under which a slot was filled, after checking all its floats.
int64_t name_of(KvSequence& sequence, int64_t token) {
  const auto name = static_cast<int64_t>(sequence.key(0, 0, token)[0]) / 2;
  for (int64_t layer = 0; layer < kLayout.layers; ++layer) {
    for (int64_t head = 0; head < kLayout.kv_heads; ++head) {
      for (int64_t d = 0; d < kLayout.head_dim; ++d) {
        EXPECT_EQ(sequence.key(layer, head, token)[d], mark(layer, head, name, false));
        EXPECT_EQ(sequence.value(layer, head, token)[d], mark(layer, head, name, true));
      }
    }
  }
  return name;
}

TEST(KvPool, RefusesImpossibleSizes) {
  EXPECT_THROW(KvPool({.layers = 0, .kv_heads = 1, .head_dim = 1}, 1), UsageError);
  EXPECT_THROW(KvPool(kLayout, 0), UsageError);
  EXPECT_EQ(KvPool(kLayout, 1).page_bytes(), 2 * 2 * 3 * 32 * 5 * 4);
}

TEST(KvSequence, TakesPagesAsNeededAndGivesThemBack) {
  KvPool pool(kLayout, 4);
  {
    KvSequence a(pool);
    EXPECT_TRUE(a.reserve(0));
    EXPECT_EQ(pool.free_pages(), 4);
    EXPECT_TRUE(a.reserve(1));
    EXPECT_EQ(pool.free_pages(), 3);
    a.advance(1);
    EXPECT_TRUE(a.reserve(31));
    EXPECT_EQ(pool.free_pages(), 3);
    EXPECT_TRUE(a.reserve(32));
    EXPECT_EQ(pool.free_pages(), 2);
    EXPECT_EQ(a.length(), 1);
    EXPECT_EQ(a.reserved(), 33);
    KvSequence b(pool);
    EXPECT_FALSE(b.reserve(65));
    EXPECT_EQ(pool.free_pages(), 2);
    EXPECT_EQ(b.reserved(), 0);
    EXPECT_TRUE(b.reserve(64));
    EXPECT_EQ(pool.free_pages(), 0);
    a.truncate(1);
    EXPECT_EQ(pool.free_pages(), 1);
    a.truncate(0);
    EXPECT_EQ(pool.free_pages(), 2);
    KvSequence c(std::move(b));
    EXPECT_EQ(c.pages(), 2);
    c = KvSequence(pool);
    EXPECT_EQ(pool.free_pages(), 4);
  }
  EXPECT_EQ(pool.free_pages(), 4);
}

TEST(KvSequence, PagesAreTilesOfHeads) {
  KvPool pool(kLayout, 8);
  KvSequence other(pool);
  ASSERT_TRUE(other.reserve(3));
  KvSequence s(pool);
  ASSERT_TRUE(s.reserve(70));
  for (int64_t t = 0; t < 70; ++t) fill(s, t, t);
  s.advance(70);
  for (int64_t layer = 0; layer < kLayout.layers; ++layer) {
    for (int64_t head = 0; head < kLayout.kv_heads; ++head) {
      for (int64_t t = 0; t < 70; ++t) {
        const int64_t offset = t % kPageTokens * kLayout.head_dim;
        EXPECT_EQ(s.key_page(layer, head, t / kPageTokens) + offset, s.key(layer, head, t));
        EXPECT_EQ(s.value_page(layer, head, t / kPageTokens) + offset, s.value(layer, head, t));
        // What runtime/op/attention.h needs: heads follow each other in a page.
        EXPECT_EQ(
            s.key_page(layer, 0, t / kPageTokens) + head * kPageTokens * kLayout.head_dim + offset,
            s.key(layer, head, t)
        );
      }
    }
  }
  for (int64_t t = 0; t < 70; ++t) EXPECT_EQ(name_of(s, t), t);
}

TEST(KvSequence, CompactKeepsAcceptedPath) {
  KvPool pool(kLayout, 8);
  KvSequence s(pool);
  ASSERT_TRUE(s.reserve(40));
  for (int64_t t = 0; t < 40; ++t) fill(s, t, t);
  s.advance(40);
  const std::vector<int64_t> keep = {0, 3, 9};
  s.compact(29, keep);
  EXPECT_EQ(s.length(), 32);
  EXPECT_EQ(s.pages(), 1);
  for (int64_t t = 0; t < 29; ++t) EXPECT_EQ(name_of(s, t), t);
  EXPECT_EQ(name_of(s, 29), 29);
  EXPECT_EQ(name_of(s, 30), 32);
  EXPECT_EQ(name_of(s, 31), 38);
  s.compact(31, {});
  EXPECT_EQ(s.length(), 31);
}

TEST(KvSequence, BrokenCallsAreBugs) {
  KvPool pool(kLayout, 2);
  KvSequence s(pool);
  ASSERT_TRUE(s.reserve(3));
  EXPECT_THROW(s.advance(4), InternalError);
  s.advance(3);
  EXPECT_THROW(s.truncate(4), InternalError);
  EXPECT_THROW(s.compact(0, std::vector<int64_t>{1, 1}), InternalError);
  EXPECT_THROW(s.compact(1, std::vector<int64_t>{2}), InternalError);
  EXPECT_THROW((void)s.reserve(-1), UsageError);
}

// Random use of several sequences against a model that only remembers names; every page is either
// free or held by one sequence.
TEST(KvSequence, RandomUse) {
  KvPool pool(kLayout, 12);
  Rng rng(7);
  std::vector<KvSequence> sequences;
  std::vector<std::vector<int64_t>> names(4);
  for (int i = 0; i < 4; ++i) sequences.emplace_back(pool);
  int64_t next = 0;
  for (int step = 0; step < 2000; ++step) {
    const size_t i = rng.below(4);
    KvSequence& s = sequences[i];
    std::vector<int64_t>& model = names[i];
    const uint64_t action = rng.below(10);
    if (action < 6) {
      const auto n = static_cast<int64_t>(rng.below(20));
      if (s.reserve(n)) {
        for (int64_t k = 0; k < n; ++k) {
          next = (next + 1) % 900;
          fill(s, s.length() + k, next);
          model.push_back(next);
        }
        s.advance(n);
      }
    } else if (action < 8) {
      const auto length = static_cast<int64_t>(rng.below(model.size() + 1));
      s.truncate(length);
      model.resize(static_cast<size_t>(length));
    } else {
      const auto length0 = static_cast<int64_t>(rng.below(model.size() + 1));
      std::vector<int64_t> keep;
      std::vector<int64_t> kept(model.begin(), model.begin() + length0);
      for (int64_t k = 0; length0 + k < s.length(); ++k) {
        if (rng.below(2) == 0) continue;
        keep.push_back(k);
        kept.push_back(model[static_cast<size_t>(length0 + k)]);
      }
      s.compact(length0, keep);
      model = kept;
    }
    ASSERT_EQ(s.length(), static_cast<int64_t>(model.size()));
    if (!model.empty()) {
      const size_t t = rng.below(model.size());
      ASSERT_EQ(name_of(s, static_cast<int64_t>(t)), model[t]);
    }
    int64_t held = 0;
    for (const KvSequence& each : sequences) held += each.pages();
    ASSERT_EQ(held + pool.free_pages(), pool.max_pages());
  }
}

}  // namespace
}  // namespace hone
