// Budgeted choice: the multiple-choice knapsack.
//
//   minimise sum_i cost[i][c_i]  subject to  sum_i weight[i][c_i] <= capacity
//
// Method: Lagrangian dual (its optimal multiplier from the convex hulls of the items' choices), a
// greedy solution as upper bound, then dynamic programming over non-dominated (weight, cost) states
// with states pruned by the Lagrangian bound (Nemhauser and Ullmann 1969; Pisinger, "A minimal
// algorithm for the multiple-choice knapsack problem", 1995). Exact unless the states exceed the
// limit. Deterministic.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hone {

struct KnapsackChoice {
  int64_t weight = 0;  // >= 0
  double cost = 0;     // finite
};

struct KnapsackItem {
  std::vector<KnapsackChoice> choices;  // at least one
};

struct KnapsackSolution {
  std::vector<int> choice;  // index into each item's choices
  int64_t weight = 0;
  double cost = 0;
  double lower_bound = 0;  // no solution costs less
  bool optimal = true;
};

// Smallest possible total weight.
int64_t least_weight(std::span<const KnapsackItem> items);

// Throws UsageError when least_weight(items) > capacity. `max_states` bounds memory (16 bytes a
// state and item); beyond it the cheapest state of each weight interval is kept and the result may
// miss the optimum.
KnapsackSolution solve_knapsack(
    std::span<const KnapsackItem> items, int64_t capacity, int64_t max_states = 50'000
);

}  // namespace hone
