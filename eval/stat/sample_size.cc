#include "eval/stat/sample_size.h"

#include <cmath>

#include "core/base/error.h"
#include "eval/stat/interval.h"

namespace hone {
namespace {

double z_sum(const EquivalencePlan& plan, double power) {
  require(plan.flip_rate >= 0 && plan.flip_rate <= 1, "flip rate {} is no share", plan.flip_rate);
  require(plan.alpha > 0 && plan.alpha < 1, "alpha {} is not between 0 and 1", plan.alpha);
  require(plan.power > 0 && plan.power < 1, "power {} is not between 0 and 1", plan.power);
  return normal_quantile(1 - plan.alpha) + normal_quantile(power);
}

int64_t items(const EquivalencePlan& plan, double power) {
  require(plan.margin > 0 && plan.margin < 1, "margin {} is not between 0 and 1", plan.margin);
  const double z = z_sum(plan, power);
  return static_cast<int64_t>(std::ceil(z * z * plan.flip_rate / (plan.margin * plan.margin)));
}

}  // namespace

int64_t items_for_non_inferiority(const EquivalencePlan& plan) {
  return items(plan, plan.power);
}

int64_t items_for_equivalence(const EquivalencePlan& plan) {
  return items(plan, (1 + plan.power) / 2);
}

double margin_for_equivalence(const EquivalencePlan& plan, int64_t count) {
  require(count > 0, "margin that {} items can prove", count);
  return z_sum(plan, (1 + plan.power) / 2) * std::sqrt(plan.flip_rate / static_cast<double>(count));
}

}  // namespace hone
