#include "runtime/text/tokenize/bpe.h"

#include <algorithm>
#include <ctime>
#include <map>
#include <memory>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace hone {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

struct Made {
  std::vector<std::string> tokens;
  Pairs merges;

  [[nodiscard]] std::unique_ptr<BpeModel> model(BpeOptions options = {}) const {
    std::vector<std::pair<std::string_view, int32_t>> vocabulary;
    for (size_t i = 0; i < tokens.size(); ++i) {
      vocabulary.emplace_back(tokens[i], static_cast<int32_t>(i));
    }
    std::vector<BpeModel::MergeText> views;
    for (const auto& [left, right] : merges) views.emplace_back(left, right);
    return std::make_unique<BpeModel>(std::move(options), vocabulary, views, "test");
  }
};

// Random merges over a small alphabet.
Made random_model(uint32_t seed, size_t merges, const std::string& alphabet) {
  std::mt19937 random(seed);
  Made made;
  for (const char c : alphabet) made.tokens.emplace_back(1, c);
  while (made.merges.size() < merges) {
    const std::string left = made.tokens[random() % made.tokens.size()];
    const std::string right = made.tokens[random() % made.tokens.size()];
    const std::string joined = left + right;
    if (joined.size() > 12) continue;
    if (std::ranges::find(made.merges, std::pair(left, right)) != made.merges.end()) continue;
    made.merges.emplace_back(left, right);
    if (std::ranges::find(made.tokens, joined) == made.tokens.end()) made.tokens.push_back(joined);
  }
  return made;
}

// The definition, slowly: the lowest rank first, the leftmost of equal ones.
std::vector<int32_t> naive(const Made& made, const std::string& text) {
  std::map<std::pair<std::string, std::string>, size_t> ranks;
  for (size_t i = 0; i < made.merges.size(); ++i) ranks[made.merges[i]] = i;
  std::vector<std::string> parts;
  for (const char c : text) parts.emplace_back(1, c);
  while (true) {
    size_t best = SIZE_MAX;
    size_t at = 0;
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto found = ranks.find({parts[i], parts[i + 1]});
      if (found != ranks.end() && found->second < best) {
        best = found->second;
        at = i;
      }
    }
    if (best == SIZE_MAX) break;
    parts[at] += parts[at + 1];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
  std::vector<int32_t> ids;
  for (const std::string& part : parts) {
    ids.push_back(static_cast<int32_t>(std::ranges::find(made.tokens, part) - made.tokens.begin()));
  }
  return ids;
}

TEST(Bpe, ShortAndLongWordsFollowTheDefinition) {
  for (uint32_t seed = 0; seed < 12; ++seed) {
    const Made made = random_model(seed, 60, "abcd");
    const auto model = made.model();
    BpeScratch scratch;
    std::mt19937 random(seed + 100);
    // Around the length where the heap takes over, and far beyond.
    for (const size_t size : {1, 2, 3, 10, 38, 39, 40, 41, 42, 43, 60, 200, 700}) {
      std::string text;
      for (size_t i = 0; i < size; ++i) text += "abcd"[random() % 4];
      std::vector<int32_t> ids;
      std::vector<uint32_t> sizes;
      model->encode(text, scratch, ids, &sizes);
      EXPECT_EQ(ids, naive(made, text)) << text;
      EXPECT_EQ(std::accumulate(sizes.begin(), sizes.end(), size_t{0}), text.size());
      std::vector<int32_t> again;
      model->encode(text, scratch, again);
      model->encode(text, scratch, again);  // from the cache
      ids.insert(ids.end(), ids.begin(), ids.end());
      EXPECT_EQ(again, ids);
    }
  }
}

TEST(Bpe, AMegabyteWithoutSpacesIsNotQuadratic) {
  const Made made = random_model(5, 80, "ab");
  const auto model = made.model();
  BpeScratch scratch;
  std::mt19937 random(3);
  std::string text;
  for (int i = 0; i < 1 << 20; ++i) text += "ab"[random() % 2];
  const auto cpu_seconds = [] {
    std::timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  };
  const auto seconds = [&](size_t size) {
    std::vector<int32_t> ids;
    const double start = cpu_seconds();
    model->encode(std::string_view(text).substr(0, size), scratch, ids);
    EXPECT_GT(ids.size(), size / 16);
    return cpu_seconds() - start;
  };
  const double part = std::max(seconds(1 << 15), 1e-3);
  // 32 times the text: n log n takes some 45 times as long, n^2 a thousand times.
  EXPECT_LT(seconds(1 << 20), part * 400);
}

TEST(Bpe, WordsThatAreTokensButNotReachedByMerges) {
  Made made{{"a", "b", "c", "ab", "abc"}, {{"a", "b"}}};
  BpeScratch scratch;
  std::vector<int32_t> ids;
  made.model()->encode("abc", scratch, ids);
  EXPECT_EQ(ids, (std::vector<int32_t>{3, 2}));
  ids.clear();
  BpeOptions options;
  options.ignore_merges = true;
  made.model(options)->encode("abc", scratch, ids);
  EXPECT_EQ(ids, (std::vector<int32_t>{4}));
}

TEST(Bpe, LaterDuplicateMergeWins) {
  Made made{{"a", "b", "c", "ab", "bc"}, {{"a", "b"}, {"b", "c"}, {"a", "b"}}};
  BpeScratch scratch;
  std::vector<int32_t> ids;
  made.model()->encode("abc", scratch, ids);
  EXPECT_EQ(ids, (std::vector<int32_t>{0, 4}));
}

TEST(Bpe, SparseIdsAndTokens) {
  const std::vector<std::pair<std::string_view, int32_t>> vocabulary = {{"a", 7}, {"b", 2}};
  const BpeModel model({}, vocabulary, {}, "test");
  EXPECT_EQ(model.size(), 8);
  EXPECT_EQ(model.token(7), "a");
  EXPECT_EQ(model.token(3), "");
  EXPECT_EQ(model.token(-1), "");
  EXPECT_EQ(model.token(99), "");
  EXPECT_EQ(model.find("b"), 2);
  EXPECT_EQ(model.find("c"), -1);
}

TEST(Bpe, BrokenVocabulariesAreNamed) {
  const std::vector<std::pair<std::string_view, int32_t>> vocabulary = {{"a", 0}, {"b", 1}};
  BpeOptions options;
  options.unk_token = "<unk>";
  EXPECT_THROW(BpeModel(options, vocabulary, {}, "test"), DataError);
  EXPECT_THROW(BpeModel({}, vocabulary, {{"a", "b"}}, "test"), DataError);
  EXPECT_THROW(BpeModel({}, vocabulary, {{"a", "x"}}, "test"), DataError);
  EXPECT_THROW(BpeModel({}, {{"a", 1 << 30}}, {}, "test"), DataError);
}

}  // namespace
}  // namespace hone
