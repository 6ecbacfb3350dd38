// How many paired items an equivalence test needs.
#pragma once

#include <cstdint>

namespace hone {

// What is planned: `flip_rate` = share of items whose outcome changes either way, `margin` and
// `alpha` (one-sided) as fractions, `power` = chance to prove it when there is no true difference.
struct EquivalencePlan {
  double flip_rate = 0;
  double margin = 0.05;
  double alpha = 0.05;
  double power = 0.8;
};

// Items for non-inferiority: (z[1-alpha] + z[power])^2 * flip_rate / margin^2, rounded up.
// Throws UsageError for values outside (0, 1); flip_rate may be 0.
int64_t items_for_non_inferiority(const EquivalencePlan& plan);
// Items for equivalence (both one-sided tests): z[power] becomes z[(1 + power) / 2].
int64_t items_for_equivalence(const EquivalencePlan& plan);
// The margin that `items` can prove equivalent with the plan's power (its margin is not used).
double margin_for_equivalence(const EquivalencePlan& plan, int64_t items);

}  // namespace hone
