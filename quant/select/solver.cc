#include "quant/select/solver.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/base/error.h"

namespace hone {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A choice that no other choice of its item beats in both weight and cost.
struct Kept {
  int64_t weight;
  double cost;
  int index;  // into the item's own choices
};

// By rising weight and falling cost.
std::vector<Kept> undominated(const KnapsackItem& item) {
  std::vector<Kept> all;
  for (size_t c = 0; c < item.choices.size(); ++c) {
    all.push_back({item.choices[c].weight, item.choices[c].cost, static_cast<int>(c)});
  }
  std::ranges::stable_sort(all, [](const Kept& a, const Kept& b) {
    return a.weight != b.weight ? a.weight < b.weight : a.cost < b.cost;
  });
  std::vector<Kept> kept;
  for (const Kept& k : all) {
    if (kept.empty() || k.cost < kept.back().cost) kept.push_back(k);
  }
  return kept;
}

// Moving item `item` from hull choice `from` to the heavier `to` saves `rate` cost per weight.
struct Step {
  size_t item;
  size_t from;
  size_t to;
  int64_t weight;
  double rate;
};

// Steps along the lower convex hull of one item: falling rates.
void hull_steps(const std::vector<Kept>& kept, size_t item, std::vector<Step>& steps) {
  size_t from = 0;
  while (from + 1 < kept.size()) {
    size_t best = from + 1;
    double best_rate = -1;
    for (size_t to = from + 1; to < kept.size(); ++to) {
      const double rate = (kept[from].cost - kept[to].cost) /
                          static_cast<double>(kept[to].weight - kept[from].weight);
      if (rate >= best_rate) {
        best_rate = rate;
        best = to;
      }
    }
    steps.push_back({item, from, best, kept[best].weight - kept[from].weight, best_rate});
    from = best;
  }
}

struct Problem {
  std::vector<std::vector<Kept>> items;
  int64_t capacity = 0;
  double multiplier = 0;  // optimal Lagrange multiplier: cost per unit of weight
  double bound = 0;       // the dual value
};

struct Incumbent {
  std::vector<size_t> choice;  // into Problem::items
  int64_t weight = 0;
  double cost = 0;
};

double total_cost(const Problem& problem, const std::vector<size_t>& choice) {
  double cost = 0;
  for (size_t i = 0; i < choice.size(); ++i) cost += problem.items[i][choice[i]].cost;
  return cost;
}

double lagrangian(const Kept& choice, double multiplier) {
  return choice.cost + multiplier * static_cast<double>(choice.weight);
}

// Takes the hull steps by falling rate while they fit; the first that does not fit gives the
// optimal multiplier. Then fills what is left.
Incumbent greedy(Problem& problem) {
  const size_t n = problem.items.size();
  Incumbent best;
  best.choice.assign(n, 0);
  std::vector<Step> steps;
  for (size_t i = 0; i < n; ++i) {
    best.weight += problem.items[i][0].weight;
    hull_steps(problem.items[i], i, steps);
  }
  std::ranges::stable_sort(steps, [](const Step& a, const Step& b) { return a.rate > b.rate; });
  bool broken = false;
  for (const Step& step : steps) {
    const bool fits = best.weight + step.weight <= problem.capacity;
    if (!fits && !broken) {
      broken = true;
      problem.multiplier = step.rate;
    }
    if (!fits || best.choice[step.item] != step.from) continue;
    best.choice[step.item] = step.to;
    best.weight += step.weight;
  }
  // Single exchanges that still fit, best saving first; each lowers the cost, so this ends.
  for (;;) {
    double saving = 0;
    size_t at = n;
    size_t to = 0;
    for (size_t i = 0; i < n; ++i) {
      const auto& kept = problem.items[i];
      const Kept& now = kept[best.choice[i]];
      for (size_t c = 0; c < kept.size(); ++c) {
        if (best.weight - now.weight + kept[c].weight > problem.capacity) continue;
        if (now.cost - kept[c].cost > saving) {
          saving = now.cost - kept[c].cost;
          at = i;
          to = c;
        }
      }
    }
    if (at == n) break;
    best.weight += problem.items[at][to].weight - problem.items[at][best.choice[at]].weight;
    best.choice[at] = to;
  }
  best.cost = total_cost(problem, best.choice);
  problem.bound = -problem.multiplier * static_cast<double>(problem.capacity);
  for (const auto& kept : problem.items) {
    double least = kInfinity;
    for (const Kept& k : kept) least = std::min(least, lagrangian(k, problem.multiplier));
    problem.bound += least;
  }
  return best;
}

// A partial solution over the first items of the processing order.
struct State {
  int64_t weight;
  double cost;
  int32_t parent;  // index into the previous level
  int32_t choice;
};

// Sorted by weight with strictly falling cost.
void remove_dominated(std::vector<State>& states) {
  std::ranges::stable_sort(states, [](const State& a, const State& b) {
    return a.weight != b.weight ? a.weight < b.weight : a.cost < b.cost;
  });
  size_t kept = 0;
  for (const State& state : states) {
    if (kept == 0 || state.cost < states[kept - 1].cost) states[kept++] = state;
  }
  states.resize(kept);
}

// Keeps the cheapest state of each of `limit` weight intervals.
void thin(std::vector<State>& states, size_t limit) {
  const int64_t low = states.front().weight;
  const int64_t width = (states.back().weight - low) / static_cast<int64_t>(limit) + 1;
  size_t kept = 0;
  int64_t last = -1;
  // Costs fall with the weight: the last state of an interval is its cheapest.
  for (const State& state : states) {
    const int64_t interval = (state.weight - low) / width;
    if (interval == last) {
      states[kept - 1] = state;
    } else {
      states[kept++] = state;
      last = interval;
    }
  }
  states.resize(kept);
}

// Items whose choices differ most under the multiplier first: they are decided at once, and the
// few undecided ones come last, when little can still change.
std::vector<size_t> processing_order(const Problem& problem) {
  std::vector<double> spread;
  for (const auto& kept : problem.items) {
    std::vector<double> values;
    for (const Kept& k : kept) values.push_back(lagrangian(k, problem.multiplier));
    std::ranges::sort(values);
    spread.push_back(values.size() > 1 ? values[1] - values[0] : kInfinity);
  }
  std::vector<size_t> order(problem.items.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return spread[a] > spread[b]; });
  return order;
}

// What the items behind each position of the order take at least.
struct Suffix {
  std::vector<int64_t> weight;
  std::vector<double> value;  // of cost + multiplier * weight
};

Suffix suffix_minima(const Problem& problem, const std::vector<size_t>& order) {
  Suffix suffix{
      std::vector<int64_t>(order.size() + 1, 0), std::vector<double>(order.size() + 1, 0)};
  for (size_t at = order.size(); at-- > 0;) {
    const auto& kept = problem.items[order[at]];
    double least = kInfinity;
    for (const Kept& k : kept) least = std::min(least, lagrangian(k, problem.multiplier));
    suffix.weight[at] = suffix.weight[at + 1] + kept.front().weight;
    suffix.value[at] = suffix.value[at + 1] + least;
  }
  return suffix;
}

// Improves `best` where possible; false when states had to be dropped.
bool improve(const Problem& problem, size_t max_states, Incumbent& best) {
  const std::vector<size_t> order = processing_order(problem);
  const Suffix suffix = suffix_minima(problem, order);
  const double charge = problem.multiplier * static_cast<double>(problem.capacity);
  // Rounding must not prune the optimum; what is let through costs time only.
  const double slack = 1e-12 * (std::abs(best.cost) + std::abs(charge));
  std::vector<std::vector<State>> levels = {{State{0, 0.0, -1, -1}}};
  bool exact = true;
  for (size_t at = 0; at < order.size(); ++at) {
    const auto& kept = problem.items[order[at]];
    std::vector<State> next;
    for (size_t s = 0; s < levels[at].size(); ++s) {
      const State& state = levels[at][s];
      for (size_t c = 0; c < kept.size(); ++c) {
        const int64_t weight = state.weight + kept[c].weight;
        const double cost = state.cost + kept[c].cost;
        if (weight + suffix.weight[at + 1] > problem.capacity) continue;
        const double bound =
            cost + problem.multiplier * static_cast<double>(weight) + suffix.value[at + 1] - charge;
        if (bound > best.cost + slack) continue;
        next.push_back({weight, cost, static_cast<int32_t>(s), static_cast<int32_t>(c)});
      }
    }
    remove_dominated(next);
    if (next.size() > max_states) {
      thin(next, max_states);
      exact = false;
    }
    if (next.empty()) return exact;  // everything is pruned: the greedy solution is the best
    levels.push_back(std::move(next));
  }
  const std::vector<State>& last = levels.back();
  const size_t cheapest = last.size() - 1;  // costs fall with the weight
  std::vector<size_t> choice(order.size());
  size_t s = cheapest;
  for (size_t at = order.size(); at-- > 0;) {
    const State& state = levels[at + 1][s];
    choice[order[at]] = static_cast<size_t>(state.choice);
    s = static_cast<size_t>(state.parent);
  }
  const double cost = total_cost(problem, choice);
  if (cost < best.cost) best = {std::move(choice), last[cheapest].weight, cost};
  return exact;
}

}  // namespace

int64_t least_weight(std::span<const KnapsackItem> items) {
  int64_t sum = 0;
  for (const KnapsackItem& item : items) {
    check(!item.choices.empty(), "a knapsack item without choices");
    sum += std::ranges::min(item.choices, {}, &KnapsackChoice::weight).weight;
  }
  return sum;
}

KnapsackSolution solve_knapsack(
    std::span<const KnapsackItem> items, int64_t capacity, int64_t max_states
) {
  const int64_t least = least_weight(items);
  require(least <= capacity, "a budget of {} is below the smallest possible, {}", capacity, least);
  Problem problem;
  problem.capacity = capacity;
  for (const KnapsackItem& item : items) problem.items.push_back(undominated(item));
  Incumbent best = greedy(problem);
  KnapsackSolution solution;
  solution.optimal = improve(problem, static_cast<size_t>(std::max<int64_t>(max_states, 1)), best);
  solution.weight = best.weight;
  solution.cost = best.cost;
  solution.lower_bound = std::min(solution.optimal ? best.cost : problem.bound, best.cost);
  for (size_t i = 0; i < items.size(); ++i) {
    solution.choice.push_back(problem.items[i][best.choice[i]].index);
  }
  return solution;
}

}  // namespace hone
