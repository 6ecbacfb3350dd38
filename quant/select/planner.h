// Makes the plan: rules or a budget decide, shapes and fused groups have the last word.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "calibrate/stats/stats.h"
#include "quant/plan.h"
#include "quant/select/rules.h"
#include "quant/source.h"

namespace hone {

struct PlanRequest {
  std::string architecture;      // ConfigIdentity::architecture_name
  bool tied_embeddings = false;  // ConfigIdentity::tied_embeddings
  std::string source_dialect;    // name of detect_dialect(); empty: not quantized
  std::vector<SourceTensor> tensors;

  const Scheme* scheme = nullptr;  // nullptr: only what rules name is quantized
  std::vector<Rule> rules;
  std::string method = "rtn";
  // > 0: choose per choice group (select/cost.h) between the scheme and keeping, so that the
  // selectable weights take at most this many stored bits each, scales included, and the sum of
  // measured KLs is smallest. Modules whose format a rule names are not chosen but counted; kept
  // ones are neither.
  double bits = 0;
  const CalibrationStats* stats = nullptr;  // required with bits
  // "": warn for all engines; otherwise (engines_for) what they refuse is a UsageError that names
  // the nearest scheme they load.
  std::string engine;
  std::string dialect;  // of the output; "": default_dialect(scheme, engine)
};

// Throws UsageError: a rule that matches nothing, splits a fused group, or names (without a
// wildcard) something that cannot be quantized; formats that one folder cannot hold; a budget that
// cannot be met or that changes nothing; a source that is quantized already (only block FP8 can be
// re-encoded, to NVFP4); nothing left to quantize. DataError: a missing sensitivity.
Plan make_plan(const PlanRequest& request);

}  // namespace hone
