#include "runtime/spec/verify.h"

#include <cmath>
#include <limits>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/rng.h"

namespace hone {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Rows that favour one token each.
std::vector<float> one_hot(const std::vector<int32_t>& favourites, int64_t vocab) {
  std::vector<float> logits(favourites.size() * static_cast<size_t>(vocab), 0.0F);
  for (size_t row = 0; row < favourites.size(); ++row)
    logits[row * static_cast<size_t>(vocab) + static_cast<size_t>(favourites[row])] = 9.0F;
  return logits;
}

TEST(Verify, PlainDecodingIsTheEmptyDraft) {
  const Verification v = verify({}, one_hot({3}, 8), 8, {});
  EXPECT_THAT(v.path, IsEmpty());
  EXPECT_THAT(v.tokens, ElementsAre(3));
}

TEST(Verify, ChainStopsAtTheFirstMismatch) {
  const Draft draft = {
      {.token = 3, .parent = -1}, {.token = 5, .parent = 0}, {.token = 1, .parent = 1}};
  EXPECT_THAT(verify(draft, one_hot({3, 5, 1, 7}, 8), 8, {}).tokens, ElementsAre(3, 5, 1, 7));
  EXPECT_THAT(verify(draft, one_hot({3, 5, 1, 7}, 8), 8, {}).path, ElementsAre(0, 1, 2));
  EXPECT_THAT(verify(draft, one_hot({3, 4, 1, 7}, 8), 8, {}).tokens, ElementsAre(3, 4));
  EXPECT_THAT(verify(draft, one_hot({3, 4, 1, 7}, 8), 8, {}).path, ElementsAre(0));
  EXPECT_THAT(verify(draft, one_hot({2, 5, 1, 7}, 8), 8, {}).tokens, ElementsAre(2));
}

TEST(Verify, WalksTheTree) {
  // Two children of the root, the second with two children; twin tokens under different parents.
  const Draft tree = {
      {.token = 4, .parent = -1},
      {.token = 6, .parent = -1},
      {.token = 2, .parent = 0},
      {.token = 2, .parent = 1},
      {.token = 5, .parent = 1},
      {.token = 0, .parent = 4}};
  // Rows: root, then nodes 0..5.
  const Verification v = verify(tree, one_hot({6, 1, 5, 1, 1, 0, 7}, 8), 8, {});
  EXPECT_THAT(v.path, ElementsAre(1, 4, 5));
  EXPECT_THAT(v.tokens, ElementsAre(6, 5, 0, 7));
  EXPECT_THAT(draft_depths(tree), ElementsAre(0, 0, 1, 1, 1, 2));
  const DraftRows rows = draft_rows(9, tree);
  EXPECT_THAT(rows.tokens, ElementsAre(9, 4, 6, 2, 2, 5, 0));
  EXPECT_THAT(rows.parents, ElementsAre(-1, 0, 0, 1, 2, 2, 5));
}

// NaN behind a rejected node is nobody's business; on the walk it is an error.
TEST(Verify, BrokenRowsMatterOnlyOnTheWalk) {
  const Draft draft = {{.token = 3, .parent = -1}};
  std::vector<float> logits = one_hot({2, 0}, 4);
  logits[5] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(verify(draft, logits, 4, {}).tokens, ElementsAre(2));
  logits = one_hot({3, 0}, 4);
  logits[5] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW((void)verify(draft, logits, 4, {}), DataError);
}

TEST(CheckDraft, BugsOfProposersAreNamed) {
  const auto message = [](const Draft& draft, int nodes) -> std::string {
    try {
      check_draft(draft, nodes, 10, "medusa");
    } catch (const InternalError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message({{.token = 9, .parent = -1}}, 1), "");
  EXPECT_THAT(message({{.token = 1, .parent = -1}}, 0), HasSubstr("medusa drafted 1 nodes"));
  EXPECT_THAT(message({{.token = 1, .parent = 0}}, 2), HasSubstr("parent 0"));
  EXPECT_THAT(message({{.token = 10, .parent = -1}}, 2), HasSubstr("token 10"));
  EXPECT_THAT(message({{.token = -1, .parent = -1}}, 2), HasSubstr("token -1"));
  EXPECT_THROW((void)verify({}, one_hot({1, 2}, 4), 4, {}), InternalError);
}

// A toy language: the next token's law depends on the last token. The law of three tokens that
// speculation emits, whatever is drafted, is the product of the conditionals.
class ToyLanguage {
 public:
  static constexpr int kVocab = 4;
  ToyLanguage() {
    Rng rng(5);
    for (auto& row : logits_) {
      for (float& logit : row) logit = static_cast<float>(rng.normal());
    }
  }
  [[nodiscard]] const std::array<float, kVocab>& row(int32_t last) const {
    return logits_[static_cast<size_t>(last)];
  }
  // Rows for the last token and every node.
  [[nodiscard]] std::vector<float> rows(int32_t last, const Draft& draft) const {
    std::vector<float> all;
    const auto append = [&](int32_t token) {
      all.insert(all.end(), row(token).begin(), row(token).end());
    };
    append(last);
    for (const DraftNode& node : draft) append(node.token);
    return all;
  }

 private:
  std::array<std::array<float, kVocab>, kVocab> logits_{};
};

Draft random_draft(Rng& rng, int nodes, bool tree) {
  Draft draft;
  for (int i = 0; i < nodes; ++i) {
    const int32_t parent =
        tree ? static_cast<int32_t>(rng.below(static_cast<uint64_t>(i) + 1)) - 1 : i - 1;
    draft.push_back(
        {.token = static_cast<int32_t>(rng.below(ToyLanguage::kVocab)), .parent = parent}
    );
  }
  return draft;
}

TEST(Verify, LawOfThreeTokensIsThatOfTheTarget) {
  const ToyLanguage language;
  const SamplingParams params{.temperature = 0.8F};
  constexpr int kRuns = 60000;
  for (const int nodes : {0, 1, 3, 6}) {
    for (const bool tree : {false, true}) {
      std::map<std::vector<int32_t>, int> counts;
      Rng rng(static_cast<uint64_t>(nodes) * 2 + tree);
      for (int run = 0; run < kRuns; ++run) {
        SamplingParams mine = params;
        mine.seed = static_cast<uint64_t>(run);
        std::vector<int32_t> text = {0};
        while (text.size() < 4) {
          const Draft draft = random_draft(rng, nodes, tree);
          const Verification v = verify(
              draft,
              language.rows(text.back(), draft),
              ToyLanguage::kVocab,
              {.params = mine, .choice = 0, .position = text.size()}
          );
          text.insert(text.end(), v.tokens.begin(), v.tokens.end());
        }
        text.resize(4);
        ++counts[text];
        // And token for token what plain decoding draws.
        std::vector<int32_t> plain = {0};
        while (plain.size() < 4)
          plain.push_back(sample(language.row(plain.back()), mine, 0, plain.size()));
        ASSERT_EQ(text, plain);
      }
      double chi = 0;
      int cells = 0;
      for (int32_t a = 0; a < ToyLanguage::kVocab; ++a) {
        for (int32_t b = 0; b < ToyLanguage::kVocab; ++b) {
          for (int32_t c = 0; c < ToyLanguage::kVocab; ++c) {
            double p = 1;
            const std::vector<int32_t> text = {0, a, b, c};
            for (size_t i = 0; i < 3; ++i) {
              // Softmax by hand, in double.
              double total = 0;
              for (const float logit : language.row(text[i])) total += std::exp(logit / 0.8);
              p *= std::exp(language.row(text[i])[static_cast<size_t>(text[i + 1])] / 0.8) / total;
            }
            const double expected = p * kRuns;
            chi += (counts[text] - expected) * (counts[text] - expected) / expected;
            ++cells;
          }
        }
      }
      // Mean and deviation of chi-square with cells - 1 degrees of freedom; 5 sigma.
      const double freedom = cells - 1;
      EXPECT_LT(chi, freedom + 5.0 * std::sqrt(2.0 * freedom)) << nodes << tree;
    }
  }
}

}  // namespace
}  // namespace hone
