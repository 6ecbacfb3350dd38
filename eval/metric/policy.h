// The verdict of an evaluation.
//
//  - A task is invalid when the two sides were not asked the same thing or when the reference's own
//    answers were cut off too often to be a yardstick.
//  - Each deciding paired metric gets a Decision (eval/stat/equivalence.h); the p-values that can
//    prove a loss are corrected by Holm's method over all deciding metrics of all tasks.
//  - The mean KL is "equivalent" when its 95 % interval lies below the limit, "worse" when it lies
//    above, otherwise "inconclusive".
//  - A task's verdict is its worst metric's, the evaluation's is its worst task's.
#pragma once

#include <string>

#include "eval/metric/result.h"

namespace hone {

// Fills every decision, verdict, reason and the headline. Throws UsageError for a policy out of
// range and when no task was run.
void judge(Evaluation& evaluation);

// "-1.3 points", "+0.4 points", "no difference".
std::string format_points(double fraction);

}  // namespace hone
