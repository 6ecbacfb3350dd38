#include "core/base/rng.h"

#include <cmath>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace hone {
namespace {

using Block = std::array<uint32_t, 4>;

// Random123, tests/kat_vectors, "philox4x32 10".
TEST(Philox, PublishedKnownAnswers) {
  EXPECT_EQ(
      philox4x32({0, 0}, {0, 0, 0, 0}), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8})
  );
  constexpr uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(
      philox4x32({kOnes, kOnes}, {kOnes, kOnes, kOnes, kOnes}),
      (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd})
  );
  EXPECT_EQ(
      philox4x32({0xa4093822, 0x299f31d0}, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}),
      (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1})
  );
}

// uniform(0, 0, 0) uses the first known-answer block: (e169c58d 6627e8d5) >> 11, times 2^-53.
TEST(Uniform, IsTheDocumentedFunctionOfTheBlock) {
  const auto bits = (uint64_t{0xe169c58d} << 32 | 0x6627e8d5) >> 11;
  EXPECT_EQ(uniform(0, 0, 0), static_cast<double>(bits) / 9007199254740992.0);
}

TEST(Uniform, EveryPartOfTheKeyCounts) {
  std::set<double> seen;
  for (const uint64_t seed : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 40}) {
    for (const uint32_t stream : {0U, 1U, 0x80000000U}) {
      for (const uint64_t position : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 33}) {
        const double draw = uniform(seed, stream, position);
        EXPECT_GE(draw, 0);
        EXPECT_LT(draw, 1);
        EXPECT_EQ(draw, uniform(seed, stream, position));
        seen.insert(draw);
      }
    }
  }
  EXPECT_EQ(seen.size(), 27U);
  EXPECT_NE(uniform(0, 0, 0), Rng(0).uniform());
}

// Chi-square over 64 cells: mean 63, standard deviation sqrt(2 * 63) = 11.2; 6 deviations.
TEST(Uniform, FillsCellsEvenly) {
  constexpr int kDraws = 64000;
  for (const bool keyed : {true, false}) {
    std::array<int, 64> count{};
    Rng rng(7, 3);
    for (int i = 0; i < kDraws; ++i) {
      const double draw = keyed ? uniform(7, 3, static_cast<uint64_t>(i)) : rng.uniform();
      ++count[static_cast<size_t>(draw * 64)];
    }
    double chi = 0;
    for (const int c : count) chi += (c - 1000.0) * (c - 1000.0) / 1000.0;
    EXPECT_LT(chi, 63 + 6 * 11.2);
  }
}

TEST(Rng, EqualSeedsGiveEqualSequencesAndOthersDoNot) {
  Rng a(5, 1);
  Rng b(5, 1);
  Rng other_stream(5, 2);
  Rng other_seed(6, 1);
  int equal = 0;
  for (int i = 0; i < 100; ++i) {
    const uint64_t draw = a.next_u64();
    EXPECT_EQ(draw, b.next_u64());
    equal += draw == other_stream.next_u64();
    equal += draw == other_seed.next_u64();
  }
  EXPECT_EQ(equal, 0);
}

// Independent recomputation of the polar method with libm's logarithm: the own one must agree to
// a few units in the last place.
TEST(Rng, NormalAgreesWithLibm) {
  Rng draws(11);
  Rng normals(11);
  for (int i = 0; i < 20000; ++i) {
    double u;
    double v;
    double s;
    do {
      u = 2 * draws.uniform() - 1;
      v = 2 * draws.uniform() - 1;
      s = u * u + v * v;
    } while (s >= 1 || s == 0);
    const double factor = std::sqrt(-2 * std::log(s) / s);
    // log loses relative accuracy near s = 1 in neither version; 8 ulp covers both roundings.
    EXPECT_NEAR(normals.normal(), u * factor, 8 * 2.3e-16 * std::abs(u * factor) + 1e-300);
    EXPECT_NEAR(normals.normal(), v * factor, 8 * 2.3e-16 * std::abs(v * factor) + 1e-300);
  }
}

TEST(Rng, NormalHasTheMomentsOfANormal) {
  constexpr int kDraws = 200000;
  Rng rng(3);
  double sum = 0;
  double squares = 0;
  double fourth = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double x = rng.normal();
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
  }
  // Standard errors: 1, sqrt(2) and sqrt(96) over sqrt(n); 6 of each.
  const double unit = 6 / std::sqrt(kDraws);
  EXPECT_NEAR(sum / kDraws, 0, unit);
  EXPECT_NEAR(squares / kDraws, 1, unit * std::sqrt(2.0));
  EXPECT_NEAR(fourth / kDraws, 3, unit * std::sqrt(96.0));
}

TEST(Rng, BelowIsInRangeAndUnbiased) {
  Rng rng(9);
  std::array<int, 3> count{};
  for (int i = 0; i < 30000; ++i) ++count[rng.below(3)];
  // Standard deviation sqrt(30000 * 2/9) = 82.
  for (const int c : count) EXPECT_NEAR(c, 10000, 6 * 82);
  EXPECT_EQ(rng.below(1), 0U);
  // Without rejection three quarters of the draws below 3 * 2^62 would be twice as likely in the
  // lower third.
  const uint64_t n = uint64_t{3} << 62;
  int low = 0;
  for (int i = 0; i < 30000; ++i) low += rng.below(n) < n / 3;
  EXPECT_NEAR(low, 10000, 6 * 82);
  EXPECT_THROW(rng.below(0), InternalError);
}

}  // namespace
}  // namespace hone
