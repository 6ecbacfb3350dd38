#include "runtime/op/attention.h"

#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/reference/ops.h"
#include "tests/reference/tolerance.h"
#include "tests/runtime/op/random_data.h"

namespace hone {
namespace {

using testing_op::cpu_isas;
using testing_op::Environment;
using testing_op::first_difference;
using testing_op::random_floats;

struct Geometry {
  int64_t heads = 4;
  int64_t kv_heads = 2;
  int64_t head_dim = 32;
  int64_t page_tokens = 32;
};

// A paged cache of one sequence. Slots that were never written hold NaN: reading one shows.
class Pages {
 public:
  Pages(const Geometry& geometry, int64_t slots) : geometry_(geometry) {
    const int64_t pages = (slots + geometry.page_tokens - 1) / geometry.page_tokens;
    const auto floats =
        static_cast<size_t>(geometry.kv_heads * geometry.page_tokens * geometry.head_dim);
    // Pages lie in no order, as a pool hands them out.
    for (int64_t i = 0; i < pages; ++i) {
      keys_.emplace_back(floats, NAN);
      values_.emplace_back(floats, NAN);
    }
    for (int64_t i = 0; i < pages; ++i) {
      key_pages_.push_back(keys_[static_cast<size_t>((i * 7 + 3) % pages)].data());
      value_pages_.push_back(values_[static_cast<size_t>((i * 7 + 3) % pages)].data());
    }
    // 7 is coprime to the page counts used, unless it divides them; then keep the order.
    if (pages % 7 == 0) {
      for (int64_t i = 0; i < pages; ++i) {
        key_pages_[i] = keys_[i].data();
        value_pages_[i] = values_[i].data();
      }
    }
  }

  // Stores token `source` of the streams as slot `slot`. Streams: [tokens, kv_heads, head_dim].
  void write(
      int64_t slot, const std::vector<float>& keys, const std::vector<float>& values, int64_t source
  ) {
    for (int64_t g = 0; g < geometry_.kv_heads; ++g) {
      const int64_t from = (source * geometry_.kv_heads + g) * geometry_.head_dim;
      const int64_t to =
          (g * geometry_.page_tokens + slot % geometry_.page_tokens) * geometry_.head_dim;
      const int64_t page = slot / geometry_.page_tokens;
      std::copy_n(&keys[from], geometry_.head_dim, const_cast<float*>(key_pages_[page]) + to);
      std::copy_n(&values[from], geometry_.head_dim, const_cast<float*>(value_pages_[page]) + to);
    }
  }

  [[nodiscard]] AttentionKv kv() const { return {key_pages_, value_pages_}; }

 private:
  Geometry geometry_;
  std::vector<std::vector<float>> keys_;
  std::vector<std::vector<float>> values_;
  std::vector<const float*> key_pages_;
  std::vector<const float*> value_pages_;
};

// Random queries, keys and values of `tokens` tokens.
struct Streams {
  Streams(const Geometry& g, int64_t tokens, uint64_t seed)
      : q(random_floats(static_cast<size_t>(tokens * g.heads * g.head_dim), seed, 1.5F)),
        keys(random_floats(static_cast<size_t>(tokens * g.kv_heads * g.head_dim), seed + 1)),
        values(random_floats(static_cast<size_t>(tokens * g.kv_heads * g.head_dim), seed + 2)) {}
  std::vector<float> q;
  std::vector<float> keys;
  std::vector<float> values;
};

AttentionArgs make_args(const Geometry& g) {
  AttentionArgs args;
  args.heads = g.heads;
  args.kv_heads = g.kv_heads;
  args.head_dim = g.head_dim;
  args.page_tokens = g.page_tokens;
  args.scale = 1.0F / std::sqrt(static_cast<float>(g.head_dim));
  return args;
}

std::vector<float> run(
    const Geometry& g,
    const std::vector<AttentionKv>& sequences,
    const std::vector<AttentionRow>& rows,
    std::span<const float> q
) {
  AttentionArgs args = make_args(g);
  args.sequences = sequences;
  args.rows = rows;
  std::vector<float> out(q.size(), NAN);
  attention(args, q, out);
  return out;
}

// Plain decoding, one token at a time, on AVX2 with one thread: what everything else must equal.
std::vector<float> decode_one_by_one(const Geometry& g, const Streams& s, int64_t tokens) {
  const Environment environment(CpuIsa::kAvx2, 1);
  Pages pages(g, tokens);
  const auto width = static_cast<size_t>(g.heads * g.head_dim);
  std::vector<float> all;
  for (int64_t t = 0; t < tokens; ++t) {
    pages.write(t, s.keys, s.values, t);
    const std::vector<float> out =
        run(g, {pages.kv()}, {{0, t + 1, {}}}, std::span(s.q).subspan(t * width, width));
    all.insert(all.end(), out.begin(), out.end());
  }
  return all;
}

std::vector<Geometry> geometries() {
  return {
      {4, 2, 32, 32},
      {3, 3, 16, 64},
      {8, 1, 128, 32},
      {5, 1, 80, 32},
      {2, 1, 20, 96},   // head_dim with a tail
      {2, 2, 200, 32},  // more than one chunk, with a tail
      {70, 1, 16, 32},  // group wider than one kernel call
  };
}

TEST(Attention, AgreesWithTheReference) {
  for (const Geometry& g : geometries()) {
    constexpr int64_t kTokens = 101;
    const Streams s(g, kTokens, 100);
    const std::vector<float> out = decode_one_by_one(g, s, kTokens);
    const int64_t group = g.heads / g.kv_heads;
    for (const int64_t t : {0, 1, 31, 32, 33, 63, 64, 100}) {
      for (int64_t h = 0; h < g.heads; ++h) {
        const int64_t at = (t * g.heads + h) * g.head_dim;
        reference::Doubles q(&s.q[at], &s.q[at] + g.head_dim);
        reference::Doubles keys;
        reference::Doubles values;
        for (int64_t j = 0; j <= t; ++j) {
          const int64_t from = (j * g.kv_heads + h / group) * g.head_dim;
          keys.insert(keys.end(), &s.keys[from], &s.keys[from] + g.head_dim);
          values.insert(values.end(), &s.values[from], &s.values[from] + g.head_dim);
        }
        const reference::AttentionHead expected =
            reference::attention(q, keys, values, static_cast<double>(make_args(g).scale));
        for (int64_t d = 0; d < g.head_dim; ++d) {
          const double tolerance = reference::attention_tolerance(
              t + 1, g.head_dim, expected.score_norm, expected.value_norm[d]
          );
          ASSERT_NEAR(out[at + d], expected.out[d], tolerance) << "token " << t << " head " << h;
          ASSERT_LT(tolerance, 1e-3);
        }
      }
    }
  }
}

// The whole prompt at once and in chunks of every kind gives the bits of decoding token by token.
TEST(Attention, DoesNotDependOnChunksThreadsOrIsa) {
  for (const Geometry& g : geometries()) {
    constexpr int64_t kTokens = 150;
    const Streams s(g, kTokens, 200);
    const std::vector<float> expected = decode_one_by_one(g, s, kTokens);
    const auto width = static_cast<size_t>(g.heads * g.head_dim);
    for (const CpuIsa isa : cpu_isas()) {
      for (const int threads : {1, 2, 3}) {
        const Environment environment(isa, threads);
        for (const int64_t chunk : {5, 32, 47, 150}) {
          Pages pages(g, kTokens);
          std::vector<float> all;
          for (int64_t begin = 0; begin < kTokens; begin += chunk) {
            const int64_t end = std::min(begin + chunk, kTokens);
            std::vector<AttentionRow> rows;
            for (int64_t t = begin; t < end; ++t) {
              pages.write(t, s.keys, s.values, t);
              rows.push_back({0, t + 1, {}});
            }
            const std::vector<float> out = run(
                g, {pages.kv()}, rows, std::span(s.q).subspan(begin * width, (end - begin) * width)
            );
            all.insert(all.end(), out.begin(), out.end());
          }
          ASSERT_EQ(first_difference(all, expected), -1)
              << cpu_isa_name(isa) << " threads " << threads << " chunk " << chunk << " head_dim "
              << g.head_dim;
        }
      }
    }
  }
}

TEST(Attention, DoesNotDependOnTheBatch) {
  const Geometry g{4, 2, 32, 32};
  const std::vector<int64_t> lengths = {1, 70, 33, 64, 150};
  const auto width = static_cast<size_t>(g.heads * g.head_dim);
  std::vector<std::unique_ptr<Pages>> pages;
  std::vector<AttentionKv> sequences;
  std::vector<AttentionRow> rows;
  std::vector<float> q;
  std::vector<float> expected;
  for (size_t i = 0; i < lengths.size(); ++i) {
    const Streams s(g, lengths[i], 300 + 10 * i);
    pages.push_back(std::make_unique<Pages>(g, lengths[i]));
    for (int64_t t = 0; t < lengths[i]; ++t) pages.back()->write(t, s.keys, s.values, t);
    sequences.push_back(pages.back()->kv());
    const std::span<const float> last = std::span(s.q).last(width);
    rows.push_back({static_cast<int64_t>(i), lengths[i], {}});
    q.insert(q.end(), last.begin(), last.end());
    const std::vector<float> out = run(g, {sequences.back()}, {{0, lengths[i], {}}}, last);
    expected.insert(expected.end(), out.begin(), out.end());
  }
  EXPECT_EQ(first_difference(run(g, sequences, rows, q), expected), -1);
}

// Draft trees: the keys of a node's path, scattered over slots, give the bits of the same tokens
// decoded as a chain. `prefix` puts the path at the start of a tile, inside one, across two.
class AttentionTree : public ::testing::TestWithParam<int64_t> {};
INSTANTIATE_TEST_SUITE_P(Prefix, AttentionTree, ::testing::Values(0, 1, 20, 30, 32, 63, 97));

TEST_P(AttentionTree, EqualsDecodingEachPathAsAChain) {
  const int64_t prefix = GetParam();
  // Parents first; -1 follows the prefix. Three branches, depth 5.
  const std::vector<int64_t> parents = {-1, -1, 0, 1, 0, 2, 3, 5, 6, 7, 4};
  const auto nodes = static_cast<int64_t>(parents.size());
  for (const Geometry& g : geometries()) {
    const Streams s(g, prefix + nodes, 400);
    const auto width = static_cast<size_t>(g.heads * g.head_dim);
    Pages pages(g, prefix + nodes);
    for (int64_t t = 0; t < prefix + nodes; ++t) pages.write(t, s.keys, s.values, t);
    std::vector<std::vector<int64_t>> paths(parents.size());
    std::vector<AttentionRow> rows;
    for (size_t i = 0; i < parents.size(); ++i) {
      if (parents[i] >= 0) paths[i] = paths[static_cast<size_t>(parents[i])];
      paths[i].push_back(prefix + static_cast<int64_t>(i));
    }
    for (const std::vector<int64_t>& path : paths) rows.push_back({0, prefix, path});
    for (const CpuIsa isa : cpu_isas()) {
      const Environment environment(isa, 2);
      const std::vector<float> tree =
          run(g, {pages.kv()}, rows, std::span(s.q).subspan(prefix * width));
      for (size_t i = 0; i < parents.size(); ++i) {
        Pages chain(g, prefix + nodes);
        for (int64_t t = 0; t < prefix; ++t) chain.write(t, s.keys, s.values, t);
        for (size_t depth = 0; depth < paths[i].size(); ++depth) {
          chain.write(prefix + static_cast<int64_t>(depth), s.keys, s.values, paths[i][depth]);
        }
        const int64_t length = prefix + static_cast<int64_t>(paths[i].size());
        const std::span<const float> q = std::span(s.q).subspan((prefix + i) * width, width);
        const std::vector<float> plain = run(g, {chain.kv()}, {{0, length, {}}}, q);
        ASSERT_EQ(first_difference(std::span(tree).subspan(i * width, width), plain), -1)
            << "node " << i << " head_dim " << g.head_dim << " " << cpu_isa_name(isa);
      }
    }
  }
}

TEST(Attention, MayOverwriteItsQueries) {
  const Geometry g;
  const Streams s(g, 40, 500);
  Pages pages(g, 40);
  for (int64_t t = 0; t < 40; ++t) pages.write(t, s.keys, s.values, t);
  std::vector<AttentionRow> rows;
  for (int64_t t = 0; t < 40; ++t) rows.push_back({0, t + 1, {}});
  const std::vector<AttentionKv> sequences = {pages.kv()};
  const std::vector<float> expected = run(g, sequences, rows, s.q);
  std::vector<float> inout = s.q;
  AttentionArgs args = make_args(g);
  args.sequences = sequences;
  args.rows = rows;
  attention(args, inout, inout);
  EXPECT_EQ(first_difference(inout, expected), -1);
}

TEST(Attention, RefusesWhatDoesNotFit) {
  const Geometry g;
  Pages pages(g, 32);
  const std::vector<AttentionKv> sequences = {pages.kv()};
  const auto width = static_cast<size_t>(g.heads * g.head_dim);
  const std::vector<float> q(width);
  const auto attempt = [&](const AttentionRow& row, auto change) {
    const std::vector<AttentionRow> rows = {row};
    AttentionArgs args = make_args(g);
    args.sequences = sequences;
    args.rows = rows;
    change(args);
    std::vector<float> out(width);
    attention(args, q, out);
  };
  const auto same = [](AttentionArgs&) {};
  const std::vector<int64_t> outside = {32};
  EXPECT_THROW(attempt({0, 33, {}}, same), UsageError);
  EXPECT_THROW(attempt({0, 0, {}}, same), UsageError);
  EXPECT_THROW(attempt({1, 1, {}}, same), UsageError);
  EXPECT_THROW(attempt({0, 1, outside}, same), UsageError);
  EXPECT_THROW(attempt({0, 1, {}}, [](AttentionArgs& a) { a.kv_heads = 3; }), UsageError);
  EXPECT_THROW(attempt({0, 1, {}}, [](AttentionArgs& a) { a.page_tokens = 16; }), UsageError);
  EXPECT_THROW(attempt({0, 1, {}}, [](AttentionArgs& a) { a.head_dim = 31; }), UsageError);
  EXPECT_THROW(attempt({0, 1, {}}, [](AttentionArgs& a) { a.scale = 0; }), UsageError);
}

}  // namespace
}  // namespace hone
