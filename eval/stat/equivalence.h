// From counts to a verdict: is the candidate as good as the reference, within a stated margin?
//
// Equivalence is shown by two one-sided tests at 5 % each (TOST), which is the same as "the 90 %
// interval lies inside +-margin" (Schuirmann 1987; EMA guideline on bioequivalence). Reports print
// the 95 % interval beside it, since readers expect that one; it does not decide. "No significant
// difference" is never taken for equivalence.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "eval/stat/paired.h"

namespace hone {

// Ordered from good to bad: the verdict over several metrics is their maximum.
enum class Verdict : uint8_t {
  kEquivalent,    // the difference is inside +-margin
  kNotWorse,      // a loss beyond the margin is excluded, a gain beyond it is not
  kInconclusive,  // the data can prove neither
  kWorse,         // a loss is proven and a loss beyond the margin is not excluded
  kInvalid,       // the two sides did not answer the same questions
};
std::string_view verdict_name(Verdict verdict);  // "equivalent", "not-worse", ...
// Exit code of the command: 0, 0, 4, 3, 5.
int verdict_exit_code(Verdict verdict);
// A proven loss outweighs open questions, an invalid comparison everything.
Verdict worse_of(Verdict a, Verdict b);

// What the data say about one paired metric.
struct Decision {
  Verdict verdict = Verdict::kInconclusive;
  Interval interval95;  // of the difference, shown
  Interval interval90;  // of the difference, decides
  McNemar test;
  double adjusted_p = 1;       // test.exact after Holm's correction over all deciding metrics
  double provable_margin = 0;  // smallest margin within which these data prove equivalence
  // The reference itself solves too few items to lose more than the margin: nothing can be proven.
  bool uninformative = false;
};

// margin: a fraction (0.05 = 5 points), > 0. adjusted_p: see holm(); used for "worse".
Decision decide(const PairedCounts& counts, double margin, double adjusted_p);

// Holm's step-down adjustment: adjusted[i] belongs to p[i]; rejecting where adjusted < alpha keeps
// the chance of any false rejection below alpha. Holm, Scand. J. Statist. 6 (1979).
std::vector<double> holm(const std::vector<double>& p);

}  // namespace hone
