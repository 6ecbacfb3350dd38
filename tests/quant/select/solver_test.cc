#include "quant/select/solver.h"

#include <algorithm>
#include <limits>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/rng.h"

namespace hone {
namespace {

// Cheapest feasible cost by trying every combination.
double brute_force(std::span<const KnapsackItem> items, int64_t capacity) {
  double best = std::numeric_limits<double>::infinity();
  std::vector<size_t> choice(items.size(), 0);
  for (;;) {
    int64_t weight = 0;
    double cost = 0;
    for (size_t i = 0; i < items.size(); ++i) {
      weight += items[i].choices[choice[i]].weight;
      cost += items[i].choices[choice[i]].cost;
    }
    if (weight <= capacity) best = std::min(best, cost);
    size_t at = 0;
    while (at < items.size() && ++choice[at] == items[at].choices.size()) choice[at++] = 0;
    if (at == items.size()) return best;
  }
}

// What a solution claims must be what its choices add up to.
void expect_consistent(
    std::span<const KnapsackItem> items, int64_t capacity, const KnapsackSolution& s
) {
  ASSERT_EQ(s.choice.size(), items.size());
  int64_t weight = 0;
  double cost = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    const auto& c = items[i].choices.at(static_cast<size_t>(s.choice[i]));
    weight += c.weight;
    cost += c.cost;
  }
  EXPECT_EQ(weight, s.weight);
  EXPECT_DOUBLE_EQ(cost, s.cost);
  EXPECT_LE(weight, capacity);
  EXPECT_LE(s.lower_bound, s.cost * (1 + 1e-12));
}

TEST(Solver, AgreesWithBruteForce) {
  Rng rng(7);
  for (int trial = 0; trial < 400; ++trial) {
    std::vector<KnapsackItem> items(1 + rng.below(9));
    int64_t most = 0;
    for (KnapsackItem& item : items) {
      const size_t choices = 1 + rng.below(4);
      int64_t heaviest = 0;
      for (size_t c = 0; c < choices; ++c) {
        const auto weight = static_cast<int64_t>(rng.below(trial % 2 == 0 ? 20 : 5000));
        item.choices.push_back({weight, rng.uniform()});
        heaviest = std::max(heaviest, weight);
      }
      most += heaviest;
    }
    const int64_t least = least_weight(items);
    const int64_t capacity =
        least + static_cast<int64_t>(rng.below(static_cast<uint64_t>(most - least + 2)));
    const KnapsackSolution s = solve_knapsack(items, capacity);
    expect_consistent(items, capacity, s);
    EXPECT_TRUE(s.optimal);
    EXPECT_NEAR(s.cost, brute_force(items, capacity), 1e-12) << "trial " << trial;
  }
}

// Two choices per item as the budget makes them: keeping costs nothing, quantizing saves memory.
std::vector<KnapsackItem> two_way(Rng& rng, size_t n, bool equal_sizes) {
  std::vector<KnapsackItem> items;
  for (size_t i = 0; i < n; ++i) {
    const auto size = static_cast<int64_t>(equal_sizes ? 1000 : 1000 + rng.below(4000));
    items.push_back({{{16 * size, 0.0}, {4 * size + size / 2, rng.uniform() * rng.uniform()}}});
  }
  return items;
}

TEST(Solver, EqualSizesMeanTheCheapestFirst) {
  Rng rng(11);
  const auto items = two_way(rng, 200, true);
  // Room for exactly 50 kept items beyond quantizing all.
  const int64_t capacity = 200 * 4500 + 50 * 11500;
  const KnapsackSolution s = solve_knapsack(items, capacity);
  std::vector<double> costs;
  for (const auto& item : items) costs.push_back(item.choices[1].cost);
  std::ranges::sort(costs);
  double expected = 0;
  for (size_t i = 0; i < 150; ++i) expected += costs[i];
  EXPECT_TRUE(s.optimal);
  EXPECT_NEAR(s.cost, expected, 1e-9);
}

TEST(Solver, LargeProblemsAreSolvedExactlyAndFast) {
  Rng rng(13);
  for (const size_t n : {size_t{320}, size_t{3000}}) {
    const auto items = two_way(rng, n, false);
    const int64_t least = least_weight(items);
    const int64_t capacity = least + least / 5;
    const KnapsackSolution s = solve_knapsack(items, capacity);
    expect_consistent(items, capacity, s);
    EXPECT_TRUE(s.optimal);
  }
}

TEST(Solver, TheBoundHoldsWhenStatesAreDropped) {
  Rng rng(17);
  std::vector<KnapsackItem> items;
  for (int i = 0; i < 12; ++i) {
    // Costs proportional to weights: the hardest case for bounds.
    const auto w = static_cast<int64_t>(100 + rng.below(900));
    items.push_back({{{0, static_cast<double>(w)}, {w, 0.0}}});
  }
  const int64_t capacity = 2718;
  const double best = brute_force(items, capacity);
  const KnapsackSolution s = solve_knapsack(items, capacity, 4);
  expect_consistent(items, capacity, s);
  EXPECT_GE(s.cost, best);
  EXPECT_LE(s.lower_bound, best * (1 + 1e-12));
}

TEST(Solver, TightAndLooseBudgets) {
  std::vector<KnapsackItem> items = {{{{10, 0.0}, {4, 1.0}}}, {{{10, 0.0}, {4, 3.0}}}};
  EXPECT_EQ(solve_knapsack(items, 8).choice, (std::vector<int>{1, 1}));
  EXPECT_EQ(solve_knapsack(items, 14).choice, (std::vector<int>{1, 0}));
  EXPECT_EQ(solve_knapsack(items, 20).choice, (std::vector<int>{0, 0}));
  EXPECT_EQ(solve_knapsack(items, 1000).weight, 20);
  EXPECT_THROW(solve_knapsack(items, 7), UsageError);
}

TEST(Solver, NothingToChoose) {
  const KnapsackSolution s = solve_knapsack({}, 0);
  EXPECT_EQ(s.weight, 0);
  EXPECT_EQ(s.cost, 0);
}

TEST(Solver, IsDeterministic) {
  Rng rng(19);
  const auto items = two_way(rng, 400, false);
  const int64_t capacity = least_weight(items) * 3 / 2;
  EXPECT_EQ(solve_knapsack(items, capacity).choice, solve_knapsack(items, capacity).choice);
}

}  // namespace
}  // namespace hone
